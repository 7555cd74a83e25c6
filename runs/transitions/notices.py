"""The outbox: who is told of what has happened, and what became of each try. Nothing is sent here."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterable, Mapping
from typing import Any

from django.conf import settings
from django.db.models import CharField, Exists, F, OuterRef, Value
from django.db.models.functions import Cast, Concat, Greatest

from runs import exact, hints, lifecycle, models, telling
from runs.transitions import attempts, audit, clock_time, notice_audience, notice_body
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import NotYours, Stale

Status, Channel = models.Delivery.Status, models.Delivery.Channel
BATCH = 50
KEPT = datetime.timedelta(days=30)
LONGEST_PAUSE = 6 * 3600.0
PUT_OFF = datetime.timedelta(minutes=1)
HEAD, TEST, REPLY = "audit.head", "test", "reply"


def spread() -> int:
    """Return how many notices were looked at: for each, who is told on which way is found out once, and kept."""
    if not models.Notice.objects.filter(spread_at__isnull=True).exists():
        return 0
    with committing("spread"):
        rows = models.Notice.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
        rows = rows.select_related("review", "run", "by").filter(spread_at__isnull=True)
        fresh = list(rows.order_by("id")[:BATCH])
        house = notice_audience.House.read()
        now = clock_time.now()
        found: list[models.Delivery] = []
        for notice in fresh:
            if notice.kind in telling.KINDS:
                found += notice_audience.deliveries(notice, house, now=now)
            if any(row.channel == Channel.WEBHOOK for row in found if row.notice_id == notice.pk):
                notice.body = notice_body.of(notice)
            notice.spread_at = now
        models.Delivery.objects.bulk_create(found, ignore_conflicts=True)
        models.Notice.objects.bulk_update(fresh, ["body", "spread_at"])
        return len(fresh)


def due() -> bool:
    """Return whether anything waits to be sent now. What a restored database holds waits until it is released."""
    now = clock_time.now()
    waiting = models.Delivery.objects.filter(status=Status.PENDING, next_at__lte=now).exists()
    return waiting and not models.Installation.objects.filter(pk=1, restored=True).exists()


def claim() -> list[models.Delivery]:
    """Return one delivery that is due, or all that are gathered with it; none when nothing is.

    The try is counted, and the next one set, before it is made: whoever dies over it leaves it to the clock.
    """
    while True:
        with committing("deliver_claim"):
            now = clock_time.now()
            open_ones = models.Delivery.objects.select_for_update(no_key=True, skip_locked=True, of=("self",))
            open_ones = open_ones.filter(status=Status.PENDING).order_by("next_at", "id")
            first = open_ones.filter(next_at__lte=now).first()
            if first is None:
                return []
            rows = [first] if first.bundle is None else list(open_ones.filter(bundle=first.bundle))
            spent = [row for row in rows if row.tries >= settings.CKPTSITE["NOTICE_TRIES"]]
            for row in rows:
                row.tries += 1
                row.next_at = now + pause(row.tries)
            for row in spent:
                row.status = Status.DEAD
                row.error = row.error or "The process ended each time while it was sent."
            models.Delivery.objects.bulk_update(rows, ["tries", "next_at", "status", "error"])
            ids = [row.pk for row in rows if row not in spent]
        if ids:
            related = ("notice__review__run", "notice__run", "notice__by", "person", "endpoint")
            return list(models.Delivery.objects.select_related(*related).filter(pk__in=ids).order_by("id"))


def pause(tries: int) -> datetime.timedelta:
    """Return how long to wait after so many tries: threefold each time, six hours at most, never all at once."""
    seconds = settings.CKPTSITE["NOTICE_RETRY"] * 3.0 ** min(tries - 1, 20)
    return clock_time.seconds(min(seconds, LONGEST_PAUSE) * random.uniform(1.0, 1.2))  # noqa: S311  spreads load


def sent(rows: Iterable[models.Delivery], *, receipt: str = "") -> None:
    """Note that the other side has taken it."""
    ids = [row.pk for row in rows]
    with committing("deliver_sent"):
        models.Delivery.objects.filter(pk__in=ids).exclude(status=Status.SENT).update(
            status=Status.SENT, sent_at=clock_time.now(), receipt=receipt[:300], error=""
        )


def dropped(rows: Iterable[models.Delivery], *, why: str) -> None:
    """Note that there was nothing left to tell."""
    with committing("deliver_dropped"):
        pending = models.Delivery.objects.filter(pk__in=[row.pk for row in rows], status=Status.PENDING)
        pending.update(status=Status.DROPPED, error=why)


def failed(rows: list[models.Delivery], *, why: str, away: bool = False, final: bool = False) -> None:
    """Note a try that failed. It is dead after the last one, or at once when another can't help (`final`).

    When the other side is `away`, whatever else waits for it is put off as well, without a try of its own.
    """
    with committing("deliver_failed"):
        for row in rows:
            over = final or row.tries >= settings.CKPTSITE["NOTICE_TRIES"]
            same = models.Delivery.objects.filter(pk=row.pk, status=Status.PENDING, tries=row.tries)
            same.update(error=why[:2000], status=Status.DEAD if over else Status.PENDING)
        if away:
            first = rows[0]
            others = models.Delivery.objects.filter(status=Status.PENDING, channel=first.channel)
            if first.channel == Channel.WEBHOOK:
                others = others.filter(target=first.target)
            later = min(
                first.next_at, clock_time.now() + PUT_OFF
            )  # one that fails must not hold up all for hours
            others.update(next_at=Greatest(F("next_at"), Value(later)))


@attempts.noted("delivery.send_again", "delivery {}")
def send_again(delivery_id: int, *, by: Actor) -> None:
    """Let a dead delivery be tried anew, with the same event id. Refuses NotYours, and Stale where it isn't dead."""
    notice_audience.only_admins(by)
    with committing("deliver_again"):
        row = models.Delivery.objects.select_for_update(no_key=True).filter(pk=delivery_id).first()
        if row is None or row.status != Status.DEAD:
            raise Stale("This isn't waiting for anybody: it was sent again, or is gone.")
        row.status, row.tries, row.next_at = Status.PENDING, 0, clock_time.now()
        row.save(update_fields=["status", "tries", "next_at"])
        content = {"channel": row.channel, "kind": row.notice.kind}
        audit.append("delivery.sent_again", actor=by, subject=f"delivery {row.pk}", content=content)


@attempts.noted("notice.test", "notice")
def try_out(way: str, *, by: Actor, endpoint: int | None = None) -> models.Notice:
    """Return a new notice that tests one way, to oneself, or one endpoint. Refuses NotYours."""
    if by.user is None or by.token is not None or not by.user.roles():
        raise NotYours("Only a person who is signed in may test their notices.")
    if way == telling.WEBHOOK:
        notice_audience.only_admins(by)
    with committing("notice_test"):
        content: dict[str, Any] = {"way": way, **({} if endpoint is None else {"endpoint": endpoint})}
        notice = models.Notice.objects.create(kind=TEST, by=by.user, content=content)
        audit.append("notice.tested", actor=by, subject=f"notice {notice.pk}", content=content)
        return notice


def note(kind: str, *, content: Mapping[str, Any], once: str) -> None:
    """Leave a notice that isn't a change of a review, a run or the audit chain; the same `once` leaves one."""
    with committing("notice"):
        row = models.Notice(kind=kind, content=exact.stored(exact.canonical(dict(content))), once=once)
        models.Notice.objects.bulk_create([row], ignore_conflicts=True)


def reply(address: str, text: str, *, replace: bool) -> None:
    """Answer an interaction in Slack through the address that it came with; a worker sends it, never the page."""
    if not 0 < len(address) <= 300:
        return
    with committing("notice_reply"):
        content = {"text": text, "replace": replace}
        notice = models.Notice.objects.create(kind=REPLY, content=content, spread_at=clock_time.now())
        models.Delivery.objects.create(notice=notice, channel=Channel.SLACK, target=address)
        hints.deliver()


def note_late() -> int:
    """Return how many open questions became late, each told once."""
    known = models.Notice.objects.filter(
        once=Concat(Value("late:"), Cast(OuterRef("pk"), CharField()), output_field=CharField())
    )
    late = models.Review.objects.filter(status=lifecycle.Review.OPEN, due_at__lte=clock_time.now())
    found = list(late.exclude(Exists(known)).order_by("due_at").values_list("pk", "run_id")[:BATCH])
    if found:
        with committing("note_late"):
            rows = [
                models.Notice(kind="review.late", review_id=pk, run_id=run_id, once=f"late:{pk}")
                for pk, run_id in found
            ]
            models.Notice.objects.bulk_create(rows, ignore_conflicts=True)
    return len(found)


def forget() -> int:
    """Return how many old notices were forgotten, with whatever became of them; what waits to be sent stays."""
    old = models.Notice.objects.filter(at__lt=clock_time.now() - KEPT, spread_at__isnull=False)
    old = old.exclude(deliveries__status=Status.PENDING)
    ids = list(old.order_by("at").values_list("pk", flat=True)[:1000])
    if ids:
        with committing("notices_forgotten"):
            models.Notice.objects.filter(pk__in=ids).delete()
    return len(ids)
