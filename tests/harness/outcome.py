"""What one trial showed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from django.db import connection

from runs import lifecycle
from tests.harness.plan import Plan


@dataclass
class Outcome:
    """What a trial showed."""

    plan: Plan
    run: int = 0
    names: list[str] = field(default_factory=list)
    fired: list[tuple[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    recoveries: list[float] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def line(self) -> str:
        """Return one line for people."""
        what = {**self.counts, "fired": self.fired, "violations": self.violations}
        return f"{self.seconds:5.1f} s  {self.plan.name()} {what}"


@dataclass(frozen=True, kw_only=True)
class Look:
    """The run as it stands."""

    run: int
    status: str
    due: float
    open: int
    moved: tuple[Any, ...]
    lines: int
    above: int = 0  # the newest live attempt of the lineage that handed work over


def look(root: int, *, one: int = 0) -> Look:
    """Return the attempt that something is to be done about, of the lineage or of what it handed over.

    It is the newest of the lineage if there is none, and this one where one is named.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, status, extract(epoch FROM coalesce(lease_until, wake_at) - clock_timestamp())::float8,"
            " (SELECT count(*) FROM runs_review v WHERE v.run_id = r.id AND v.status = 'open'),"
            " fence, position, inbox, folded, mode, root_id FROM runs_run r WHERE root_id = %(root)s"
            " OR root_id IN (SELECT root_id FROM runs_run WHERE parent_id IN"
            " (SELECT id FROM runs_run WHERE root_id = %(root)s)) ORDER BY id",
            {"root": root},
        )
        rows = cursor.fetchall()
    open_ones = [row for row in rows if row[1] not in lifecycle.RUN_ENDED or row[3]]
    # A trial beside a run waits for nobody; and who waits for work that was handed over, only for that.
    open_ones.sort(key=lambda row: (row[8] != "dry_run", _waits_below(row, rows, root)))
    ended = [row for row in rows if row[9] == root][-1:]
    run, status, due, asked, *_ = ([row for row in rows if row[0] == one] or open_ones or ended)[0]
    moved = tuple(row[3:] for row in rows)
    above = [row[0] for row in rows if row[9] == root and row[8] != "dry_run"][-1]
    return Look(
        run=run,
        status=status,
        due=due or 0.0,
        open=asked,
        moved=moved,
        lines=sum(row[5] for row in rows),
        above=above,
    )


def _waits_below(row: tuple[Any, ...], rows: list[tuple[Any, ...]], root: int) -> bool:
    """Return whether the run has nothing to do itself, while one that it handed work to has."""
    going = any(other[9] != root and other[1] not in lifecycle.RUN_ENDED for other in rows)
    return going and row[9] == root and row[1] == lifecycle.Run.WAITING and not row[3]
