"""Claiming a run and renewing the lease."""

from __future__ import annotations

from django.conf import settings
from django.db import connection

from runs import lifecycle, models, points
from runs.models import paths, wire
from runs.models.run import FORMAT
from runs.tools import registry
from runs.transitions import clock_time, inbox, log, rows, tenures
from runs.transitions.committing import committing
from runs.transitions.steps import advances
from runs.transitions.steps._statement import Claim

_RENEW = """
UPDATE runs_run SET beat_at = clock_timestamp(), lease_until = least(
  greatest(lease_until, clock_timestamp() + %s * interval '1 second'), clock_timestamp() + %s * interval '1 second')
WHERE id = %s AND fence = %s AND status = 'running'
"""


def claim(run_id: int) -> Claim | None:
    """Return the claim of a due run, or None: somebody else holds it, it isn't due, or it may not go on.

    A run is taken when it is queued and due, or running with a lease that is over (or impossibly far away, since the
    clock went back). Its fence grows by one, so that whoever held it before can write nothing more.
    """
    with committing("claim"):
        found = inbox.try_lock_now(run_id)
        if found is None or found[0].format > FORMAT:
            return None
        run, installation, now = found
        before = dict(run.__dict__)
        if not _takeable(run, now):
            return None
        if run.status == lifecycle.Run.QUEUED and _switched_off(run, installation):
            return None
        # What came before it in its lineage must have ended, with nothing open or unknown that nobody gave up.
        if not run.begun and not models.Run.objects.filter(paths.ready(), pk=run_id).exists():
            return None
        took_over = run.status == lifecycle.Run.RUNNING
        run.status = log.moved(run.status, lifecycle.RUN_MOVES, lifecycle.Run.RUNNING, by="E")
        run.fence += 1
        run.attempts += 1
        run.lease_until = now + clock_time.seconds(settings.CKPTSITE["LEASE"])
        if took_over and run.claimed_at is not None and run.beat_at is not None:
            # Nobody saw it die: it counts as at work until its last heartbeat.
            run.active_seconds += max(0.0, (run.beat_at - run.claimed_at).total_seconds())
        run.claimed_at = run.beat_at = now
        if run.advance is None:  # what a dead claim held passes to this one
            advances.take(run, now, set_for=installation.day_limits, asking=_asking(run))
        run.wake_at, run.reason = None, ""
        noted = tenures.noted(run.pk, run.fence, took_over=took_over)
        wire.together([*rows.changed(run, before), noted])
        return Claim(
            run_id=run.pk,
            fence=run.fence,
            took_over=took_over,
            attempts=run.attempts,
            unread=run.inbox > run.folded,
            begun=run.begun,
            due=before["reason"],
        )


def _asking(run: models.Run) -> bool:
    """Return whether the question for more that the run waits for is still open; forget it otherwise."""
    if (
        run.budget_review_id is not None
        and not models.Review.objects.filter(pk=run.budget_review_id, status=lifecycle.Review.OPEN).exists()
    ):
        run.budget_review = None
    return run.budget_review_id is not None


def _takeable(run: models.Run, now: object) -> bool:
    if run.status == lifecycle.Run.QUEUED:
        return run.wake_at is not None and run.wake_at <= now  # type: ignore[operator]
    if run.status != lifecycle.Run.RUNNING or run.lease_until is None:
        return False
    longest = max(settings.CKPTSITE["LEASE"], longest_effect() + settings.CKPTSITE["MARGIN"])
    # A little beyond the longest lease that anybody can have taken: then the clock went back.
    return run.lease_until < now or run.lease_until > now + clock_time.seconds(1.5 * longest)  # type: ignore[operator]


def _switched_off(run: models.Run, installation: models.Installation) -> bool:
    """Return whether a switch keeps this run from being taken up; one that was cut off is taken over all the same."""
    paused = installation.paused("agent")
    return installation.halted or bool(paused and run.agent_version.agent.name in paused)


def longest_effect() -> float:
    """Return the longest time in seconds that one effect of any tool may take."""
    given = (settings.CKPTSITE["EFFECT_TIMEOUT"], settings.CKPTSITE["MODEL_TIMEOUT"])
    return max(*given, registry.longest_timeout())


def renew(held: Claim, *, within: float = 0.0) -> bool:
    """Return whether the lease was renewed; False means that the authority is lost.

    `within` is how long the move under way may still take: no lease is longer than that or the usual length.
    """
    lease = settings.CKPTSITE["LEASE"]
    points.reach("renew.before")
    with connection.cursor() as cursor:
        cursor.execute(_RENEW, [lease, max(lease, within), held.run_id, held.fence])
        renewed = bool(cursor.rowcount)
    points.reach("renew.after")
    return renewed
