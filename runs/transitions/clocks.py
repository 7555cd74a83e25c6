"""What time does: every act is a conditional change, batch-limited, and harmless when it is done twice."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings
from django.db import connection
from django.db.models import F, Q, TextField, Window
from django.db.models.functions import Cast, Coalesce, RowNumber
from django.utils import timezone

from runs import hints, lifecycle, models, rights
from runs.models import dues, paths
from runs.transitions import audit, clock_time, inbox, ladders, log
from runs.transitions.actor import CLOCK
from runs.transitions.committing import committing

BATCH = 50
NET = 200
"""So many waiting runs are looked at together for one that is stranded."""
HINT_AGAIN = 5.0
LOCK = 0x636B7074
"""First half of the numbers of the clock's locks; each act has a second half of its own."""


@contextmanager
def sweeping(act: str) -> Iterator[bool]:
    """Commit one batch of the clock. Gives False when another clock is at this act just now.

    Nothing rests on this lock, which ends with its transaction: every act is a conditional change and harmless when it
    is done twice. It only saves work.
    """
    with committing(act):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_xact_lock(%s, hashtext(%s))", [LOCK, act])
            row = cursor.fetchone()
        yield bool(row and row[0])


def expire_reviews() -> int:
    """Return how many open questions past their end were closed as expired; whoever commits first wins."""
    found = models.Review.objects.filter(
        status=lifecycle.Review.OPEN, expires_at__lte=clock_time.now()
    ).order_by("expires_at")
    return sum(_expire(pk, run_id) for pk, run_id in found.values_list("pk", "run_id")[:BATCH])


def _expire(review_id: int, run_id: int) -> bool:
    with sweeping("expire") as mine:
        run = inbox.try_lock(run_id) if mine else None
        if run is None:
            return False
        review = models.Review.objects.select_for_update(no_key=True, of=("self",)).get(pk=review_id)
        now = clock_time.now()
        if review.status != lifecycle.Review.OPEN or review.expires_at is None or review.expires_at > now:
            return False
        if ladders.put_off_end(run, review, now=now):
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
        audit.append("review.expired", actor=CLOCK, run=run, subject=f"review {review.pk}", content=content)
        hints.changed(run.pk, inbox=True)
        return True


def due_runs(*, limit: int, again: float = HINT_AGAIN) -> list[int]:
    """Return runs that a worker could claim now, and note that a hint for them is on its way.

    Due and unclaimed, or with a lease that is over; the oldest first, the agents in turn, and none for which a hint was
    sent since it became due and within the last `again` seconds. One clock does this at a time; a second one gets an
    empty list.
    """
    with sweeping("due") as mine:
        if not mine or limit <= 0:
            return []
        now = clock_time.now()
        fresh = now - clock_time.seconds(again)
        unheard = Q(hinted_at__isnull=True) | Q(hinted_at__lt=fresh) | Q(hinted_at__lt=F("wake_at"))
        since = Coalesce("wake_at", "lease_until")
        fair = (
            models.Run.objects.filter(dues.due(now), unheard)
            .annotate(
                since=since,
                turn=Window(
                    RowNumber(),
                    partition_by=["priority", "agent_version__agent_id"],
                    order_by=[since.asc(), F("id").asc()],
                ),
            )
            .order_by("priority", "turn", "since", "id")
        )
        ids = list(fair.values_list("id", flat=True)[:limit])
        if not ids:
            return []
        # Asked again under the lock: the row may have been claimed since.
        free = models.Run.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
        taken = set(free.filter(dues.due(now), pk__in=ids).values_list("id", flat=True))
        models.Run.objects.filter(pk__in=taken).update(hinted_at=now)
        return [run_id for run_id in ids if run_id in taken]


def next_due(*, exclude: frozenset[int] = frozenset(), served: set[int] | None = None) -> int | None:
    """Return one run that could be claimed now, or None: what a worker asks when it ends a slice.

    The oldest of the highest precedence, and with `served` of an agent that isn't among these yet: its agent is added,
    and once each has had its turn they begin anew, so that very many runs of one hold up nobody's.
    """
    rows = (
        models.Run.objects.filter(dues.due(clock_time.now()))
        .exclude(pk__in=exclude)
        .order_by("priority", F("wake_at").asc(nulls_first=True), "id")
        .values_list("id", "priority", "agent_version__agent")
    )
    found = rows.first()
    if found is None or served is None:
        return None if found is None else found[0]
    if found[2] in served:
        other = rows.filter(priority=found[1]).exclude(agent_version__agent__in=served).first()
        if other is None:
            served.clear()
        found = other or found
    served.add(found[2])
    return found[0]


def wake_stranded() -> int:
    """Return how many of all waiting runs were stranded; see `wake_stranded_behind`."""
    woken, after = wake_stranded_behind(0)
    while after:
        more, after = wake_stranded_behind(after)
        woken += more
    return woken


def wake_stranded_behind(after: int) -> tuple[int, int]:
    """Wake the stranded among some waiting runs behind that number; return how many, and the last one looked at or 0.

    Stranded is what has nothing to wait for, or an unread fact; it is queued and audited. This is the net under lost
    wake-ups and edits by hand. And it finds what is no longer blocked: evidence about another run's effect, which may
    be closed, locks that run only. However many wait, a look costs the same.
    """
    # Two looks for an open question, not one with "or": that one read all of them for each run until PostgreSQL had
    # counted anew.
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT r.id, r.reason, r.inbox > r.folded OR NOT EXISTS ("
            " SELECT 1 FROM runs_review v WHERE v.run_id = r.id AND v.status = 'open')"
            " AND NOT EXISTS (SELECT 1 FROM runs_review v WHERE v.id = r.budget_review_id AND v.status = 'open')"
            " AND NOT EXISTS ("
            " SELECT 1 FROM runs_action a JOIN runs_occurrence o ON o.id = a.blocked_by_id"
            " WHERE a.run_id = r.id AND o.state IN ('open', 'unknown'))"
            " AND NOT EXISTS (SELECT 1 FROM runs_run c WHERE c.parent_id = r.id AND NOT c.returned)"
            " OR EXISTS (SELECT 1 FROM runs_action a JOIN runs_occurrence o ON o.id = a.blocked_by_id"
            " WHERE a.run_id = r.id AND a.status IN ('held', 'approved') AND o.state NOT IN ('open', 'unknown'))"
            " OR EXISTS (SELECT 1 FROM runs_review v WHERE v.id = r.budget_review_id AND v.run_id <> r.id"
            " AND v.status <> 'open')"
            " FROM runs_run r WHERE r.status = 'waiting' AND r.id > %s ORDER BY r.id LIMIT %s",
            [after, NET],
        )
        looked = cursor.fetchall()
    others = "the question that it waited for is closed"
    found = [(pk, why) for pk, why, stranded in looked if stranded]
    woken = sum(_wake(pk, why=others if why == "others" else "nothing to wait for") for pk, why in found)
    return woken, looked[-1][0] if len(looked) == NET else 0


def wake_new_day() -> int:
    """Return how many runs waited for more of a day's limit that is over, and were queued: this day has its own.

    Whether it suffices the engine finds out, which then also closes the question or asks it anew.
    """
    today = clock_time.now().astimezone(timezone.get_default_timezone()).date()
    asked = models.Review.objects.filter(
        kind=lifecycle.ReviewKind.BUDGET, status=lifecycle.Review.OPEN, run__status=lifecycle.Run.WAITING
    )  # who waits for another run's question is woken when that one is closed
    wanted = {run_id: content["account"] for run_id, content in asked.values_list("run_id", "content")}
    over = set(
        models.Account.objects.filter(pk__in=wanted.values(), day__lt=today).values_list("pk", flat=True)
    )
    ids = sorted(run_id for run_id, account in wanted.items() if account in over)
    return sum(_wake(run_id, why="a new day has a limit of its own") for run_id in ids[:BATCH])


def _wake(run_id: int, *, why: str) -> bool:
    with sweeping("stranded") as mine:
        run = inbox.try_lock(run_id) if mine else None
        if run is None or run.status != lifecycle.Run.WAITING:
            return False
        inbox.leave(run, models.Fact.Kind.WAKE, {"reason": why}, by=None, mover="S")
        audit.append("run.woken", actor=CLOCK, run=run, subject=f"run {run.pk}", content={"reason": why})
        return True


def escalate() -> int:
    """Return how many overdue questions that never expire were put before administrators too; each once.

    They stay open and overdue until somebody answers: no deadline answers in a person's place.
    """
    late = models.Review.objects.filter(
        status=lifecycle.Review.OPEN, due_at__lt=clock_time.now(), expires_at__isnull=True
    )
    late = late.annotate(text=Cast("groups", TextField())).exclude(text__contains=f'"{rights.ADMIN}"')
    found = list(late.order_by("due_at").values_list("pk", "run_id")[:BATCH])
    return sum(_escalate(pk, run_id) for pk, run_id in found)


def _escalate(review_id: int, run_id: int) -> bool:
    with sweeping("escalate") as mine:
        run = inbox.try_lock(run_id) if mine else None
        if run is None:
            return False
        review = models.Review.objects.select_for_update(no_key=True, of=("self",)).get(pk=review_id)
        if review.status != lifecycle.Review.OPEN or rights.ADMIN in review.groups:
            return False
        before, review.groups = review.groups, [*review.groups, rights.ADMIN]
        review.save(update_fields=["groups"])
        content = {"before": before, "after": review.groups}
        audit.append("review.escalated", actor=CLOCK, run=run, subject=f"review {review.pk}", content=content)
        hints.changed(run.pk, inbox=True)
        return True


def wake_snoozed() -> int:
    """Return how many questions that somebody had put off came back, and tell open pages; each once.

    Nothing else rests on it: the lists go by the time alone.
    """
    over = models.Snooze.objects.filter(told=False, until__lte=clock_time.now()).order_by("until")
    found = list(over.values_list("pk", "review__run")[:BATCH])
    if not found:
        return 0
    with sweeping("snoozed") as mine:
        if not mine:
            return 0
        ids = [pk for pk, _ in found]
        told = models.Snooze.objects.filter(pk__in=ids, told=False, until__lte=clock_time.now())
        count = told.update(told=True)
        for run_id in sorted({run_id for _, run_id in found}):
            hints.changed(run_id, inbox=True)
        return count


def slots() -> int:
    """Return how many hints the queue is topped up to: twice the worker slots."""
    return 2 * int(settings.CKPTSITE["SLOTS"])


def next_alarm(*, within: float = 60.0) -> float | None:
    """Return the seconds until the next queued run is due by itself, at least 0.01; None if none is within `within`."""
    now = clock_time.now()
    queued = (
        models.Run.objects.filter(dues.startable(), paths.ready(), status=lifecycle.Run.QUEUED)
        .exclude(reason="switch")  # nobody knows when it is lifted
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
