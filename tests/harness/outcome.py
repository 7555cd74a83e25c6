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


def look(root: int) -> Look:
    """Return the attempt of the lineage that something is to be done about; the newest if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, status, extract(epoch FROM coalesce(lease_until, wake_at) - clock_timestamp())::float8,"
            " (SELECT count(*) FROM runs_review v WHERE v.run_id = r.id AND v.status = 'open'),"
            " fence, position, inbox, folded, mode FROM runs_run r WHERE root_id = %s ORDER BY id",
            [root],
        )
        rows = cursor.fetchall()
    open_ones = [row for row in rows if row[1] not in lifecycle.RUN_ENDED or row[3]]
    open_ones.sort(key=lambda row: row[-1] != "dry_run")  # a trial beside a run waits for nobody
    run, status, due, asked, *_ = (open_ones or rows[-1:])[0]
    moved = tuple(row[3:] for row in rows)
    return Look(
        run=run, status=status, due=due or 0.0, open=asked, moved=moved, lines=sum(row[5] for row in rows)
    )
