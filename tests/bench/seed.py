"""A database of many runs: `python -m tests.bench.seed --runs N --data DIR`.

Patterns of every kind of work (short and long runs, questions that wait, decisions, effects, failures, new attempts)
are made by the product itself. Their rows are then cast N times with other ids, customers, invoices and moments and
written by COPY, with digests, keys, log chains and audit chain as the product would have written them: runs that are
looked at open on their pages, and `audit_verify` holds. Foreign keys are not checked while they are written, and what
the patterns left is deleted, append-only or not: `session_replication_role` is `replica` in the session that seeds,
and in no other. The runs are those of the last days, a million in a year; 2,000 open questions are among the newest.

The data folder is then as `manage.py up` leaves one: `manage.py up --data DIR` opens it. Accounts are the demo's.
Where the disk is too small there are fewer runs, and that is said. Nothing is written where there are runs already.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

from tests.bench import stage

if TYPE_CHECKING:
    from tests.bench.seeding import casting, moulds, patterns

BYTES_A_RUN = 30_000
"""What a run takes with its lines, actions, effects, questions, words and indexes, and while it is written."""
LEFT_FREE = 15 * 2**30
BATCH = 2_000
CHECKED = 25
"""So many seeded runs are verified at the end."""


class NotEmpty(Exception):
    """There are runs already."""


@dataclass(frozen=True, kw_only=True)
class Seeded:
    """What is there now."""

    asked: int
    runs: int
    rows: dict[str, int]
    open: int
    megabytes: int
    seconds: float
    verified: int

    @property
    def scale(self) -> float:
        """Return which part of what was asked for there is."""
        return round(self.runs / self.asked, 3)


def main(arguments: Sequence[str]) -> int:
    """Fill, and print what is there."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.seed", description=__doc__)
    parser.add_argument("--runs", type=int, default=1_000_000, help="how many runs there shall be")
    parser.add_argument("--data", type=Path, required=True, help="the data folder, made where there is none")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="fewer patterns, and none of long runs")
    options = parser.parse_args(arguments)
    with stage.standing(options.data, environment=ENVIRONMENT, settings=SERVER) as folder:
        from tests.bench.seeding import patterns

        free = shutil.disk_usage(folder.root).free
        sizes = patterns.QUICK if options.quick else patterns.Sizes()
        found = fill(folder.database_url, options.runs, free=free, sizes=sizes)
    report(found, as_json=options.json)
    return 0


ENVIRONMENT = {"CKPTSITE_UNDO_WINDOW_3": "0", "CKPTSITE_SETTLE": "0.1"}
SERVER = {"max_wal_size": "4GB"}


def fill(url: str, runs: int, *, free: int, sizes: patterns.Sizes | None = None) -> Seeded:
    """Return what was written; refuses NotEmpty where there are runs."""
    from ckptsite.services import postgres

    began = time.monotonic()
    with postgres.connect(url) as database:
        database.autocommit = True
        if database.execute("SELECT 1 FROM runs_run LIMIT 1").fetchone():
            raise NotEmpty("There are runs in this database already.")
        database.execute("SET synchronous_commit = off")
        made, columns = _moulds(database, sizes)
        say(f"{len(made)} patterns made by the product after {time.monotonic() - began:.0f} s")
        counted = _write(database, _shuffled(made, fitting(runs, free=free)), columns)
        say(f"written after {time.monotonic() - began:.0f} s")
        database.execute("VACUUM ANALYZE")
        size = database.execute("SELECT pg_database_size(current_database())").fetchone()
        asked = database.execute("SELECT count(*) FROM runs_review WHERE status = 'open'").fetchone()
    assert size is not None
    assert asked is not None
    return Seeded(
        asked=runs,
        runs=counted["runs_run"],
        rows=dict(sorted(counted.items())),
        open=int(asked[0]),
        megabytes=int(size[0]) >> 20,
        seconds=round(time.monotonic() - began, 1),
        verified=_verify(),
    )


def fitting(runs: int, *, free: int) -> int:
    """Return how many of these runs the disk has room for."""
    return min(runs, max(0, free - LEFT_FREE) // BYTES_A_RUN)


Made = list[tuple["patterns.Pattern", "moulds.Mould"]]


def _moulds(database: psycopg.Connection, sizes: patterns.Sizes | None) -> tuple[Made, dict[str, list[str]]]:
    """Return the patterns with their moulds; they leave agents, people and contracts behind, and no run."""
    from django.conf import settings

    from tests.bench.seeding import moulds, patterns, rows

    rows.mark(database)
    made = list(patterns.everything(sizes or patterns.Sizes()))
    columns = {table: rows.columns(database, table) for table in (*rows.TABLES, rows.EVENTS)}
    found = rows.by_root(database, columns)
    cast = [(pattern, moulds.mould(found[pattern.root])) for pattern in made]
    with database.transaction():
        database.execute("SET LOCAL session_replication_role = replica")
        for table in rows.TABLES:
            database.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
        database.execute("DELETE FROM runs_tenure")
        database.execute("DELETE FROM runs_auditevent")
        database.execute("UPDATE runs_audithead SET seq = 0, hash = decode(repeat('0', 64), 'hex')")
    # The last effect that began here was a pattern's: a worker that missed it would take this for a restored copy.
    (Path(settings.CKPTSITE_DATA) / "last-intent").unlink(missing_ok=True)
    patterns.limit()
    return cast, columns


def _shuffled(made: Made, runs: int) -> Iterator[casting.Cast]:
    """Give the casts, the oldest first: the frequent kinds as often as they are frequent, the open ones at the end."""
    from tests.bench.seeding import casting

    chance = random.Random(5)
    often = [(mould, pattern.share) for pattern, mould in made if pattern.share]
    size = {id(mould): len(mould.runs) for _, mould in made}
    once = [mould for pattern, mould in made if pattern.times and not pattern.open]
    waiting = [mould for pattern, mould in made for _ in range(pattern.times) if pattern.open]
    left = max(0, runs - sum(size[id(mould)] for mould in (*once, *waiting)))
    moulds, weights = [mould for mould, _ in often], [share for _, share in often]
    middle: list[Any] = []
    while left > 0:
        middle.extend(chance.choices(moulds, weights, k=max(1, left // 2)))
        left = runs - sum(size[id(mould)] for mould in (*once, *waiting, *middle))
    latest = int(casting.HOURS_OPEN / 24 / 365 * casting.A_YEAR)
    newest = waiting + [middle.pop() for _ in range(min(len(middle), max(0, latest - len(waiting))))]
    chance.shuffle(newest)
    order = [*once, *middle, *newest]
    apart = 365 * 24 * 60 / casting.A_YEAR
    for number, mould in enumerate(order):
        left = len(order) - number
        ago = left * apart
        if left <= len(newest):
            ago = min(ago, left / len(newest) * casting.HOURS_OPEN * 60)
        yield casting.Cast(mould=mould, minutes=int(ago))


def _write(
    database: psycopg.Connection, casts: Iterator[casting.Cast], columns: dict[str, list[str]]
) -> dict[str, int]:
    """Return how many rows of each table were written; one batch is made while the one before it is written."""
    from runs import models
    from tests.bench.seeding import casting

    caster = casting.Caster(columns, models.AuditHead.objects.get(pk=1))
    with ThreadPoolExecutor(max_workers=1) as writer:
        under_way: Future[None] | None = None
        for number in itertools.count(1):
            batch = caster.rows(itertools.islice(casts, BATCH))
            if under_way is not None:
                under_way.result()
            if not batch.get("runs_run"):
                break
            under_way = writer.submit(_copy, database, batch)
            if number % 25 == 0:
                say(f"  {caster.count['runs_run']:,} runs")
    with database.transaction():
        database.execute(
            "UPDATE runs_audithead SET seq = %s, hash = %s", [caster.seq, bytes.fromhex(caster.head)]
        )
        for table, number in caster.next.items():
            database.execute("SELECT setval(pg_get_serial_sequence(%s, 'id'), %s, false)", [table, number])
    return dict(caster.count)


def _copy(database: psycopg.Connection, batch: dict[str, list[str]]) -> None:
    with database.transaction():
        database.execute("SET LOCAL session_replication_role = replica")
        for table, lines in batch.items():
            with (
                database.cursor() as cursor,
                cursor.copy(sql.SQL("COPY {} FROM STDIN").format(sql.Identifier(table))) as copy,
            ):
                copy.write("".join(lines))


def _verify() -> int:
    """Return how many of the seeded runs were held against their logs and the audit chain; Broken if one differs."""
    from runs import models
    from runs.engine import verifier

    newest = models.Run.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    chance = random.Random(3)
    chosen = chance.sample(range(1, newest + 1), min(CHECKED, newest))
    for run in models.Run.objects.filter(pk__in=chosen):
        verifier.verify_run(run)
    return len(chosen)


def report(found: Seeded, *, as_json: bool) -> None:
    """Print what is there."""
    if as_json:
        print(json.dumps({**vars(found), "scale": found.scale}, indent=2))  # noqa: T201 - it talks to the shell
        return
    print(f"{found.runs:,} runs of {found.asked:,} asked for (scale {found.scale})")  # noqa: T201
    for table, count in found.rows.items():
        print(f"  {table:20} {count:>12,}")  # noqa: T201
    print(  # noqa: T201
        f"{found.open:,} open questions, {found.megabytes:,} MB, {found.seconds:.0f} s, {found.verified} runs verified"
    )


def say(line: str) -> None:
    """Tell whoever waits how far it is."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
