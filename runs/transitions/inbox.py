"""Leaving a fact for a run: what everybody does who isn't its claimed engine.

The caller holds the run row's lock. The fact raises the run's inbox number, so that the engine's next park, intent or
end, which names the number that it saw, is refused; and a run at rest that waits becomes due.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from runs import exact, hints, lifecycle, models
from runs.models import columns
from runs.transitions import clock_time, log


def lock(run_id: int) -> models.Run:
    """Return the run, locked until the end of the transaction: always the first lock."""
    return columns.one(models.Run, "id = $1 FOR NO KEY UPDATE", run_id)


def lock_now(run_id: int) -> tuple[models.Run, datetime.datetime]:
    """Return the run, locked, and the database's time after that."""
    question = columns.asked(models.Run, "id = $1 FOR NO KEY UPDATE", [columns.number(run_id)])
    found, now = columns.together(question, clock_time.ASKED)
    if not found:
        raise models.Run.DoesNotExist(f"no run {run_id}")
    return found[0], now


def try_lock(run_id: int) -> models.Run | None:
    """Return the run, locked; None when somebody else has it: the clock comes again in a second."""
    found = try_lock_now(run_id)
    return found[0] if found is not None else None


def try_lock_now(run_id: int) -> tuple[models.Run, models.Installation, datetime.datetime] | None:
    """Return the run, locked, with the installation and the database's time after that.

    None when somebody else has it.
    """
    if not 0 < run_id < 2**63:  # no run has such a number; a forged message may name any
        return None
    found, (installation,), now = columns.together(
        columns.asked(models.Run, "id = $1 FOR NO KEY UPDATE SKIP LOCKED", [columns.number(run_id)]),
        columns.asked(models.Installation, "id = $1", [columns.number(1)]),
        clock_time.ASKED,
    )
    return (found[0], installation, now) if found else None


def number(run_id: int) -> int:
    """Return the run's inbox number as it stands."""
    return models.Run.objects.values_list("inbox", flat=True).get(pk=run_id)


def digest(fact: models.Fact) -> str:
    """Return the digest of what was left, and by whom: the line that it leads to names it."""
    return exact.digest_of([fact.number, fact.kind, fact.content, fact.by_id])


def leave(
    run: models.Run, kind: models.Fact.Kind, content: Mapping[str, Any], *, by: models.User | None, mover: str
) -> models.Fact:
    """Return the fact left on the locked run; a waiting run is queued by `mover` (P person, S clock, V evidence)."""
    run.inbox += 1
    fact = models.Fact.objects.create(run=run, number=run.inbox, kind=kind, content=dict(content), by=by)
    fields = ["inbox"]
    if run.status == lifecycle.Run.WAITING:
        run.status = log.moved(run.status, lifecycle.RUN_MOVES, lifecycle.Run.QUEUED, by=mover)
        run.reason = str(kind)
        run.wake_at = clock_time.now()
        fields += ["status", "reason", "wake_at"]
    elif run.status == lifecycle.Run.QUEUED and run.wake_at is not None:
        # It may sleep until a backoff or an undo window ends; a fact is worth a look now.
        run.wake_at = min(run.wake_at, clock_time.now())
        fields.append("wake_at")
    run.save(update_fields=fields)
    hints.wake(run.pk)
    return fact


def requeue(run: models.Run) -> None:
    """Let the locked run, which has failed, be tried again."""
    run.status = log.moved(run.status, lifecycle.RUN_MOVES, lifecycle.Run.QUEUED, by="P")
    run.reason, run.wake_at, run.ended_at = "retry", clock_time.now(), None
    run.attempts, run.error = 0, ""
    run.save(update_fields=["status", "reason", "wake_at", "ended_at", "attempts", "error"])
