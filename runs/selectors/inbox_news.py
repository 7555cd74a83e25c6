"""What came and went since a list of the inbox was drawn; no row moves by itself."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from django.db.models import Count, Q

from runs.selectors import deciding, filters, inbox, inbox_models, inbox_rows, queue
from runs.selectors.filters import DECIDED, SNOOZED


@dataclass(frozen=True, kw_only=True)
class _Known:
    """What the page holds: the highest number there was, when it was drawn, and the numbers of its rows."""

    newest: int
    drawn: datetime.datetime
    seen: frozenset[int]


def news(viewer: deciding.Viewer, params: Mapping[str, str]) -> inbox_models.InboxNews:
    """Return how many lines came and went since the list with `known` was drawn."""
    known = _read(params.get("known", ""))
    if known is None:
        return inbox_models.InboxNews(fresh=0, gone=0, empty=False)
    chosen = filters.read(params)
    if chosen.tab == DECIDED:
        fresh = inbox_rows.decided(viewer, chosen).filter(pk__gt=known.newest).count()
        return inbox_models.InboxNews(fresh=fresh, gone=0, empty=not known.seen)
    rows = queue.listed(viewer, chosen)
    found = rows.aggregate(
        fresh=Count("pk", filter=_fresh(viewer, chosen, known) & ~Q(pk__in=known.seen)),
        still=Count("pk", filter=Q(pk__in=known.seen)),
    )
    gone = len(known.seen) - found["still"]
    return inbox_models.InboxNews(fresh=found["fresh"], gone=gone, empty=not known.seen)


def _fresh(viewer: deciding.Viewer, chosen: filters.Filters, known: _Known) -> Q:
    """Return what a line is that wasn't in this list before: asked since, or put off, back or handed over since."""
    came = Q(pk__gt=known.newest) | Q(handover__to=viewer.user, handover__at__gte=known.drawn)
    if queue.tab(viewer, chosen) == SNOOZED:
        return Q(put_off__set_at__gte=known.drawn)
    return came | Q(put_off__until__gte=known.drawn)


def _read(text: str) -> _Known | None:
    head, listed, ids = text.partition(":")
    newest, _, drawn = head.partition("@")
    if not listed:
        return None
    numbers = [_number(part) for part in ids.split(",")[: inbox.SIZE + 1]]
    moment = min(_number(drawn) or 0, 2**33)
    return _Known(
        newest=_number(newest) or 0,
        drawn=datetime.datetime.fromtimestamp(moment, tz=datetime.UTC),
        seen=frozenset(number for number in numbers if number is not None),
    )


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else None
