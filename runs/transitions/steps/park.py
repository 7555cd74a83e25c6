"""Putting a run to rest: waiting for people, paused, or due again later."""

from __future__ import annotations

import datetime

from django.conf import settings

from runs import lifecycle
from runs.transitions import clock_time, texts
from runs.transitions.steps._statement import Claim, fenced


def wait(claim: Claim, *, reason: str, seen: int) -> None:
    """Park the run as waiting. Refuses Changed when a fact arrived since it was read: no wake-up is lost."""
    with fenced(claim, "wait", seen=seen) as work:
        work.log.checkpoint(lifecycle.Boundary.WAITING)
        work.move_run(lifecycle.Run.WAITING)
        work.run.reason = reason
        work.release()


def pause(claim: Claim, *, seen: int) -> None:
    """Park the run under its hold, at this safe point."""
    with fenced(claim, "pause", seen=seen) as work:
        work.move_run(lifecycle.Run.PAUSED)
        work.run.reason = "held"
        if work.run.remind_at is None:
            work.run.remind_at = work.now + clock_time.seconds(settings.CKPTSITE["HOLD_REMIND"])
        work.release()


def later(
    claim: Claim,
    *,
    reason: str,
    at: datetime.datetime | None = None,
    after: float = 0.0,
    seen: int | None = None,
    trouble: str = "",
) -> None:
    """Queue the run to be due at `at`, or after `after` seconds: slice over, backoff, undo window, horizon, shutdown.

    With `trouble` this claim still counts as one without progress, so that a fault that repeats ends in a failure
    review and not in an endless loop.
    """
    with fenced(claim, "later", seen=seen) as work:
        attempts = work.run.attempts  # counted, if there was trouble
        work.move_run(lifecycle.Run.QUEUED)
        work.run.reason = reason
        work.run.wake_at = at or work.now + clock_time.seconds(after)
        work.release()
        if trouble:
            work.run.attempts, work.run.error = attempts, texts.storable(trouble)
