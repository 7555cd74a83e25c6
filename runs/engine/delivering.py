"""Sending what the outbox holds: in a worker on a hint, and in the clock's own process when no hint gets through.

A try is committed before it is made, so a crash costs a pause and never a notice; while something is sent this process
holds no transaction and no lock.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import close_old_connections

from runs import hints, lifecycle, models, points, telling
from runs.engine import advance, origin, outside
from runs.notices import mail, slack, webhooks
from runs.notices.failing import NotTaken
from runs.transitions import clock_time, endpoints, notices

log = structlog.get_logger(__name__)
Channel = models.Delivery.Channel

HINT_AGAIN = 2.0
"""Seconds until a worker is hinted at what waits once more."""
OVER = "It was answered before it could be told."


class Herald:
    """The clock's side: finds who is told of what, hints a worker at it, and sends a little itself without a broker."""

    def __init__(self) -> None:
        self._hinted = float("-inf")

    def look(self, *, stopping: Callable[[], bool] = advance.never) -> None:
        """Spread what is new, and see that what is due is sent."""
        spread(stopping=stopping)
        now = time.monotonic()
        if now >= self._hinted + HINT_AGAIN and notices.due():
            if hints.deliver_now():
                self._hinted = now
            else:
                work(stopping=stopping, most=5)


def spread(*, stopping: Callable[[], bool]) -> None:
    """Find for all that is new who is told of it."""
    while notices.spread() == notices.BATCH and not stopping():
        pass


def tell(*, stopping: Callable[[], bool]) -> int:
    """Return how many messages were tried: what is new is spread, and what is due is sent, in this process."""
    spread(stopping=stopping)
    return work(stopping=stopping)


def work(*, stopping: Callable[[], bool], most: int = 50) -> int:
    """Return how many messages were tried: those that are due, for a slice of time at most."""
    close_old_connections()
    origin.ensure()  # a copy tells nobody anything, even where no run is due
    end = time.monotonic() + settings.CKPTSITE["SLICE"]
    done = 0
    while done < most and time.monotonic() < end and not stopping() and notices.due():
        rows = notices.claim()
        if not rows:
            break
        _deliver(rows)
        done += 1
    return done


def _deliver(rows: list[models.Delivery]) -> None:
    live = [row for row in rows if not _over(row)]
    if len(live) < len(rows):
        notices.dropped([row for row in rows if row not in live], why=OVER)
    if not live:
        return
    timeout = float(settings.EMAIL_TIMEOUT)
    points.reach("deliver.before_send")
    try:
        send = _sending(live, timeout)
        receipt = outside.look(send, beat=outside.Unclaimed(), timeout=timeout)
    except NotTaken as error:
        notices.failed(live, why=error.why, away=error.away, final=error.final)
        log.warning("notice_not_sent", delivery=live[0].pk, channel=live[0].channel, error=error.why)
    except Exception as error:  # whatever it is: it is tried again, and found on the page
        notices.failed(live, why=f"{type(error).__name__}: {error}")
        log.warning("notice_not_sent", delivery=live[0].pk, channel=live[0].channel, error=str(error))
    else:
        points.reach("deliver.after_send")
        notices.sent(live, receipt=receipt)


def _sending(rows: list[models.Delivery], timeout: float) -> Callable[[], str]:
    first = rows[0]
    if first.channel == Channel.EMAIL:
        to = first.person.email if first.person is not None else first.target
        return mail.sending(rows, to=to, within=timeout - 1.0)
    if first.channel == Channel.SLACK:
        return slack.sending(first)
    assert first.endpoint is not None
    return webhooks.sending(first, both=endpoints.both_sign(first.endpoint, clock_time.now()))


def _over(row: models.Delivery) -> bool:
    """Return whether nobody need be told any more: programs are told everything, people what still waits for them."""
    if row.channel == Channel.WEBHOOK:
        return row.endpoint is None or not row.endpoint.enabled
    if row.person is not None and not (row.person.is_active and row.person.email):
        return True
    review = row.notice.review
    return row.notice.kind in telling.ASKING and review is not None and review.status != lifecycle.Review.OPEN
