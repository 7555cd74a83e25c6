"""The forms of the team page: texts in, values out, with one sentence for what isn't one."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.http import QueryDict
from django.utils import timezone

_END = datetime.time(23, 59, 59)


class Unreadable(ValueError):
    """What was typed is no such value; one sentence."""


@dataclass(frozen=True, kw_only=True)
class Shift:
    group: str
    person: int
    days: tuple[str, ...]
    starts: datetime.time
    ends: datetime.time
    since: datetime.date
    until: datetime.date | None


def number(text: str) -> int:
    """Return the number of somebody, or one that nobody has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 19 else 0


def shift(post: QueryDict) -> Shift:
    """Return the shift that was typed. Refuses Unreadable."""
    group, _, person = post.get("member", "").partition(":")
    until = post.get("until", "").strip()
    return Shift(
        group=group,
        person=number(person),
        days=tuple(post.getlist("days")),
        starts=_time(post.get("starts", "")),
        ends=_time(post.get("ends", "")),
        since=_date(post.get("since", "")),
        until=_date(until) if until else None,
    )


def end_of_day(text: str) -> datetime.datetime:
    """Return the end of the day that was typed, in the reader's time zone. Refuses Unreadable."""
    return timezone.make_aware(datetime.datetime.combine(_date(text), _END))


def _date(text: str) -> datetime.date:
    try:
        found = datetime.date.fromisoformat(text.strip())
    except ValueError as error:
        raise Unreadable("Choose a day, written like 2026-12-31.") from error
    if not 2000 <= found.year <= 2200:
        raise Unreadable("Choose a day of this century.")
    return found


def _time(text: str) -> datetime.time:
    try:
        return datetime.time.fromisoformat(text.strip()).replace(second=0, microsecond=0, tzinfo=None)
    except ValueError as error:
        raise Unreadable("Choose hours, written like 08:30.") from error
