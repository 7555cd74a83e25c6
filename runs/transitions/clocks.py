"""What time does: every act is a conditional change, batch-limited, and harmless when it is done twice."""

from __future__ import annotations

import datetime

from django.conf import settings
from django.db import connection
from django.db.models import F, Q, QuerySet

from runs import hints, lifecycle, models
from runs.models import paths
from runs.transitions import audit, clock_time, inbox, log
from runs.transitions.actor import CLOCK
from runs.transitions.committing import committing

BATCH = 50
HINT_AGAIN = 5.0
LOCK_ID = 0x636B7074


def expire_reviews() -> int:
    """Return how many open questions past their end were closed as expired; whoever commits first wins."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT id, run_id FROM runs_review WHERE status = 'open' AND expires_at <= clock_timestamp()"
            " ORDER BY expires_at LIMIT %s",
            [BATCH],
        )
        rows = cursor.fetchall()
    return sum(_expire(review_id, run_id) for review_id, run_id in rows)


def _expire(review_id: int, run_id: int) -> bool:
    with committing("expire"):
        run = inbox.lock(run_id)
        review = models.Review.objects.select_for_update(of=("self",)).get(pk=review_id)
        now = clock_time.now()
        if review.status != lifecycle.Review.OPEN or review.expires_at is None or review.expires_at > now:
            return False
        if review.on_expiry != "deny":
            return False
        review.status = log.moved(review.status, lifecycle.REVIEW_MOVES, lifecycle.Review.EXPIRED, by="S")
        review.closed_at = now
        review.save(update_fields=["status", "closed_at"])
        content = {
            "review": review.pk,
            "kind": review.kind,
            "revision": review.revision,
            "digest": review.digest,
        }
        inbox.leave(run, models.Fact.Kind.EXPIRED, content, by=None, mover="S")
        audit.append("review.expired", actor=CLOCK, run=run, subject=f"review {review.pk}")
        hints.changed(run.pk, inbox=True)
        return True


def due_runs(*, limit: int, again: float = HINT_AGAIN) -> list[int]:
    """Return runs that a worker could claim now, and note that a hint for them is on its way.

    Due and unclaimed, or with a lease that is over; oldest first, none hinted within the last `again` seconds. One
    clock does this at a time; a second one gets an empty list.
    """
    with committing("due"):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [LOCK_ID])
            row = cursor.fetchone()
        if not (row and row[0]):
            return []
        now = clock_time.now()
        fresh = now - clock_time.seconds(again)
        ids = list(
            _due(now)
            .filter(Q(hinted_at__isnull=True) | Q(hinted_at__lt=fresh) | Q(hinted_at__lt=F("wake_at")))
            .select_for_update(skip_locked=True, of=("self",))
            .order_by("priority", F("wake_at").asc(nulls_first=True), "id")
            .values_list("id", flat=True)[:limit]
        )
        models.Run.objects.filter(pk__in=ids).update(hinted_at=now)
        return ids


def next_due(*, exclude: frozenset[int] = frozenset()) -> int | None:
    """Return one run that could be claimed now, or None: what a worker asks when it ends a slice."""
    now = clock_time.now()
    return (
        _due(now)
        .exclude(pk__in=exclude)
        .order_by("priority", F("wake_at").asc(nulls_first=True), "id")
        .values_list("id", flat=True)
        .first()
    )


def _due(now: datetime.datetime) -> QuerySet[models.Run]:
    """Return the runs that time has made due; a new attempt isn't while what came before it goes on."""
    return models.Run.objects.filter(
        Q(status=lifecycle.Run.QUEUED, wake_at__lte=now) & paths.ready()
        | Q(status=lifecycle.Run.RUNNING, lease_until__lt=now)
    )


def wake_stranded() -> int:
    """Return how many waiting runs had nothing to wait for, or an unread fact, and were queued and audited.

    It should find none; it is the net under lost wake-ups and edits by hand.
    """
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT r.id FROM runs_run r WHERE r.status = 'waiting' AND (r.inbox > r.folded OR NOT EXISTS ("
            " SELECT 1 FROM runs_review v WHERE v.run_id = r.id AND v.status = 'open') AND NOT EXISTS ("
            " SELECT 1 FROM runs_action a JOIN runs_occurrence o ON o.id = a.blocked_by_id"
            " WHERE a.run_id = r.id AND o.state IN ('open', 'unknown'))) ORDER BY r.id LIMIT %s",
            [BATCH],
        )
        ids = [row[0] for row in cursor.fetchall()]
    woken = 0
    for run_id in ids:
        with committing("stranded"):
            run = inbox.lock(run_id)
            if run.status != lifecycle.Run.WAITING:
                continue
            inbox.leave(run, models.Fact.Kind.WAKE, {"reason": "nothing to wait for"}, by=None, mover="S")
            audit.append("run.woken", actor=CLOCK, run=run, subject=f"run {run.pk}")
            woken += 1
    return woken


def slots() -> int:
    """Return how many hints the queue is topped up to: twice the worker slots."""
    return int(settings.CKPTSITE.get("SLOTS", 4))


def next_alarm(*, within: float = 60.0) -> float | None:
    """Return the seconds until the next queued run is due by itself, at least 0.01; None if none is within `within`."""
    now = clock_time.now()
    queued = (
        models.Run.objects.filter(paths.ready(), status=lifecycle.Run.QUEUED)
        .order_by("wake_at")
        .values_list("wake_at", flat=True)
    )
    leased = models.Run.objects.filter(status=lifecycle.Run.RUNNING).order_by("lease_until")
    moments = [
        moment for moment in (queued.first(), leased.values_list("lease_until", flat=True).first()) if moment
    ]
    if not moments:
        return None
    pause = (min(moments) - now).total_seconds()
    return max(pause, 0.01) if pause <= within else None
