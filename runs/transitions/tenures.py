"""Noting which process holds a claim, and what became of those that lost theirs."""

from __future__ import annotations

import os
import socket
import threading
from dataclasses import dataclass
from functools import lru_cache

from ckptsite.services import processes
from runs import lifecycle, models
from runs.models import columns, wire
from runs.transitions import clock_time
from runs.transitions.committing import committing

BATCH = 50

_NOTE = """
WITH held AS (
  UPDATE runs_tenure SET fence = $2::bigint, host = $3::varchar, pid = $4::integer, started = $5::varchar,
    alone = $6::boolean, claimed_at = clock_timestamp()
  WHERE run_id = $1::bigint AND lost_at IS NULL RETURNING 1)
INSERT INTO runs_tenure (run_id, fence, host, pid, started, alone, claimed_at)
SELECT $1::bigint, $2::bigint, $3::varchar, $4::integer, $5::varchar, $6::boolean, clock_timestamp()
WHERE NOT EXISTS (SELECT FROM held)
"""
"""Uses the run's row again where its claim was handed back; of a claim that was lost the row stays."""


@dataclass(frozen=True, kw_only=True)
class Process:
    """A process as others can recognise it: machine, number, start; `alone` if it does one thing at a time."""

    host: str
    pid: int
    started: str
    alone: bool


def me() -> Process:
    """Return this process."""
    alone = threading.current_thread() is threading.main_thread()
    host, started = _known(os.getpid())
    return Process(host=host, pid=os.getpid(), started=started, alone=alone)


@lru_cache(maxsize=2)
def _known(pid: int) -> tuple[str, str]:
    """Return machine and start of this process. Process numbers mean something only within their namespace."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{socket.gethostname()} {space}".strip(), processes.started_at(pid) or ""


def noted(run_id: int, fence: int, *, took_over: bool) -> wire.Statement:
    """Return what notes that this process holds the claim with this fence; the caller has locked the run."""
    if took_over:
        models.Tenure.objects.filter(run=run_id, lost_at__isnull=True).update(lost_at=clock_time.now())
    mine = me()
    word, number = columns.word, columns.number
    return _NOTE, [
        number(run_id),
        number(fence),
        word(mine.host),
        number(mine.pid),
        word(mine.started),
        b"t" if mine.alone else b"f",
    ]


def lose() -> int:
    """Return how many claims have outlived their lease since the last look; nobody may have taken the runs over."""
    with committing("lose"):
        return models.Tenure.objects.filter(
            lost_at__isnull=True,
            run__status=lifecycle.Run.RUNNING,
            run__lease_until__lt=clock_time.now(),
        ).update(lost_at=clock_time.now())


def lost(host: str) -> list[models.Tenure]:
    """Return the claims of this machine's processes that were lost, and of which nobody knows yet how they ended."""
    found = models.Tenure.objects.filter(host=host, lost_at__isnull=False, gone_at__isnull=True)
    return list(found.order_by("lost_at")[:BATCH])


def moved_on(tenure: models.Tenure) -> bool:
    """Return whether the same process has claimed a run since: then it has left this one."""
    return (
        models.Tenure.objects.filter(
            host=tenure.host, pid=tenure.pid, started=tenure.started, claimed_at__gt=tenure.claimed_at
        )
        .exclude(pk=tenure.pk)
        .exists()
    )


def gone(tenure: models.Tenure) -> bool:
    """Note that the process behind a lost claim can send nothing more for it; return whether that is news."""
    with committing("gone"):
        return bool(
            models.Tenure.objects.filter(pk=tenure.pk, gone_at__isnull=True).update(gone_at=clock_time.now())
        )
