"""The engine at work on a replayed run: seconds by kind of commit, commits, statements and bytes."""

from __future__ import annotations

import dataclasses
import statistics
import time
from typing import Any
from unittest import mock

from django.db import connection

from runs import lifecycle, models, points
from runs.engine import worker
from runs.providers import replay
from tests.bench import counting, recordings, tools

NOW_AND_THEN = ("index", "spread", "adopt", "lose", "claim", "later", "finish", "refill")
"""Commits that begin and end a slice with its sweep and its notices, or take the next advance on the budget."""

_AFTER = ".after_commit"


@dataclasses.dataclass(frozen=True, kw_only=True)
class Worked:
    """One run, worked through. `seconds` and `commits` by kind of commit; a kind's time ends with its commit."""

    run: models.Run
    calls: int
    seconds: dict[str, float]
    commits: dict[str, int]
    replies: list[float]
    written: int
    said: counting.Said

    @property
    def wall(self) -> float:
        """Return the seconds from the first look for due work to the last commit."""
        return sum(self.seconds.values())

    def commits_each(self) -> float:
        """Return the commits for each call, without a reply's own and those that are made once in a while."""
        left_out = {"reply", *NOW_AND_THEN}
        return sum(n for kind, n in self.commits.items() if kind not in left_out) / self.calls

    def seconds_now_and_then(self) -> float:
        """Return the seconds of the commits that are made once in a while."""
        return sum(second for kind, second in self.seconds.items() if kind in NOW_AND_THEN)


def work(replies: list[dict[str, Any]], *, asked: bool = False) -> Worked:
    """Return how a run with these replies was worked through, by one process, as `manage.py drain` does it.

    With `asked` the provider passes for one that is asked elsewhere, so that nothing waits for its reply.
    """
    run = recordings.start(replies)
    marks: list[tuple[str, float]] = []

    def reach(name: str) -> None:
        if name.endswith(_AFTER):
            marks.append((name.removesuffix(_AFTER), time.perf_counter()))

    written = _written()
    points.arm(reach)
    try:
        with mock.patch.object(replay.Replay, "local", not asked), counting.statements() as said:
            began = time.perf_counter()
            worker.drain(until_idle=False)
    finally:
        points.arm(None)
    written = _written() - written
    run.refresh_from_db()
    if run.status != lifecycle.Run.SUCCEEDED:
        raise RuntimeError(f"The run ended as {run.status}: {run.error or run.reason}")
    seconds: dict[str, float] = {}
    commits: dict[str, int] = {}
    before = began
    for kind, moment in marks:
        seconds[kind] = seconds.get(kind, 0.0) + moment - before
        commits[kind] = commits.get(kind, 0) + 1
        before = moment
    return Worked(
        run=run,
        calls=sum(len(reply["calls"]) for reply in replies),
        seconds=seconds,
        commits=commits,
        replies=[moment for kind, moment in marks if "reply" in kind],
        written=written,
        said=said,
    )


def reads_and_replies(steps: int, *, asked: bool = False) -> Worked:
    """Return a run of `steps` replies with one read each."""
    return work(recordings.singles(steps, tool=tools.Look), asked=asked)


def effects(count: int, *, asked: bool = False) -> Worked:
    """Return a run of `count` effects, each proposed by a reply of its own; `asked`: intent and result apart."""
    return work(recordings.singles(count), asked=asked)


def released_effects(count: int) -> Worked:
    """Return a run of `count` effects, many in one reply, so that the next one is released already."""
    return work(recordings.wide(count))


def flatness(worked: Worked) -> dict[str, float]:
    """Return the last 5 % of the steps against the first 5 %: the middle step, and all of them together."""
    steps = [later - earlier for earlier, later in zip(worked.replies, worked.replies[1:], strict=False)]
    share = max(1, len(steps) // 20)
    first, last = steps[:share], steps[-share:]
    return {
        "median": statistics.median(last) / statistics.median(first),
        "sum": sum(last) / sum(first),
    }


def size(*, vacuumed: bool) -> int:
    """Return the bytes of every table of the product with all indexes; `vacuumed`: after VACUUM FULL."""
    tables = sorted(connection.introspection.table_names())
    mine = [table for table in tables if table.startswith("runs_")]
    with connection.cursor() as cursor:
        if vacuumed:
            for table in mine:
                cursor.execute(f"VACUUM (FULL, ANALYZE) {connection.ops.quote_name(table)}")
        cursor.execute(
            "SELECT sum(pg_total_relation_size(name::regclass)) FROM unnest(%s::text[]) AS name", [mine]
        )
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])


def _written() -> int:
    """Return the number of the next transaction that writes: each takes one, and so does each savepoint."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint")
        row = cursor.fetchone()
    assert row is not None
    return int(row[0])
