"""Who wants to be told what, on which way and when: the defaults, a person's own choice, and quiet hours. Pure."""

from __future__ import annotations

import datetime
import functools
import uuid
import zoneinfo
from collections.abc import Mapping
from dataclasses import dataclass, field

from runs import lifecycle

PAGE, EMAIL, SLACK, WEBHOOK = "page", "email", "slack", "webhook"
OFF, NOW, GATHERED = "off", "now", "gathered"
REVERSIBLE, EXTERNAL, FINAL, TROUBLE, MINE, SITE = "tier1", "tier2", "tier3", "trouble", "mine", "site"
ROWS = (REVERSIBLE, EXTERNAL, FINAL, TROUBLE, MINE, SITE)
WAYS: dict[str, tuple[str, ...]] = {PAGE: (OFF, NOW), EMAIL: (OFF, GATHERED, NOW), SLACK: (OFF, NOW)}
"""What a person can choose on each way; Slack's messages stand in one channel, so there is nothing to gather."""
DEFAULTS: dict[str, dict[str, str]] = {
    REVERSIBLE: {PAGE: NOW, EMAIL: OFF, SLACK: OFF},
    EXTERNAL: {PAGE: NOW, EMAIL: GATHERED, SLACK: NOW},
    FINAL: {PAGE: NOW, EMAIL: NOW, SLACK: NOW},
    TROUBLE: {PAGE: NOW, EMAIL: NOW, SLACK: NOW},
    MINE: {PAGE: NOW, EMAIL: GATHERED, SLACK: OFF},
    SITE: {PAGE: NOW, EMAIL: NOW, SLACK: OFF},
}
HOURS = (1, 2, 4, 8, 12, 24)
ASKING = frozenset({"review.opened", "review.late", "review.escalated"})
"""Kinds that ask whoever may answer."""
KINDS: dict[str, str] = {
    "review.opened": "A question was opened",
    "review.late": "A question is late",
    "review.escalated": "More people are asked",
    "review.handed_over": "A question was handed over",
    "review.approved": "It was approved",
    "review.rejected": "It was rejected",
    "review.answered": "A question was answered",
    "review.expired": "Nobody answered in time",
    "review.superseded": "A question is no longer asked",
    "review.settled": "A question was settled by what was found out",
    "review.broke_glass": "Somebody released it alone, by break-glass",
    "run.succeeded": "A run is done",
    "run.failed": "A run failed",
    "run.cancelled": "A run was stopped",
    "budget.raised": "A limit is higher now",
    "switch.off": "Something was paused",
    "switch.on": "Something goes on",
    "policy.changed": "The policy was changed",
    "database.restored": "The database was restored",
    "database.released": "The restored database was released",
    "audit.head": "The head of the audit chain",
    "test": "A test",
}
"""Every kind that is told, in words. What else the database notes is told to nobody."""
_ROW_OF_KIND = {
    lifecycle.ReviewKind.FAILURE: TROUBLE,
    lifecycle.ReviewKind.IN_DOUBT: TROUBLE,
    lifecycle.ReviewKind.BUDGET: TROUBLE,
    lifecycle.ReviewKind.QUESTION: EXTERNAL,
    lifecycle.ReviewKind.PLAN: EXTERNAL,
}
_SOON = datetime.timedelta(seconds=30)
_NAMESPACE = uuid.UUID("6f1d1c0e-6b0b-4a52-9d70-2c1b6fd0a5c3")


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What one person wants. Without a choice of theirs: the defaults."""

    ways: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    gather_hours: int = 4
    zone: str = ""
    quiet_from: datetime.time | None = None
    quiet_until: datetime.time | None = None
    final_anyway: bool = True

    def way(self, row: str, channel: str) -> str:
        """Return "off", "now" or "gathered"; what isn't offered counts as not chosen."""
        chosen = self.ways.get(row, {}).get(channel)
        return chosen if chosen in WAYS[channel] else DEFAULTS[row][channel]


def row_of(kind: str, tier: int) -> str:
    """Return the row of the settings for a question of this kind and tier."""
    if kind in _ROW_OF_KIND:
        return _ROW_OF_KIND[lifecycle.ReviewKind(kind)]
    return REVERSIBLE if tier <= 1 else EXTERNAL if tier == 2 else FINAL


def when(wish: Wish, row: str, way: str, *, now: datetime.datetime, default: str) -> datetime.datetime:
    """Return when the person may be told on this way: at once, at the next gathering, never in their quiet hours."""
    moment = now if way != GATHERED else next_gathering(wish.gather_hours, now)
    if row == FINAL and wish.final_anyway:
        return moment
    return after_quiet(wish, moment, default=default)


def next_gathering(hours: int, now: datetime.datetime) -> datetime.datetime:
    """Return the next full multiple of `hours` (one of HOURS) in UTC, never so soon that another notice misses it."""
    start = now.astimezone(datetime.UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    span = datetime.timedelta(hours=hours)
    return start + span * ((now + _SOON - start) // span + 1)


def after_quiet(wish: Wish, moment: datetime.datetime, *, default: str) -> datetime.datetime:
    """Return the moment, or the end of the quiet hours that it falls into, by the clock of the person's own place."""
    if wish.quiet_from is None or wish.quiet_until is None or wish.quiet_from == wish.quiet_until:
        return moment
    here = moment.astimezone(zoneinfo.ZoneInfo(wish.zone or default))
    start, end, clock = wish.quiet_from, wish.quiet_until, here.time()
    overnight = start > end
    quiet = (clock >= start or clock < end) if overnight else start <= clock < end
    if not quiet:
        return moment
    day = here.date() + datetime.timedelta(days=1 if overnight and clock >= start else 0)
    # Built from the date, so that a night in which the clocks change ends when they show its end.
    until = datetime.datetime.combine(day, end, tzinfo=here.tzinfo)
    return max(moment, until.astimezone(datetime.UTC))


def bundle(person: int, moment: datetime.datetime) -> uuid.UUID:
    """Return the id of what goes out to the person as one at that moment."""
    return uuid.uuid5(_NAMESPACE, f"{person} {moment.astimezone(datetime.UTC).isoformat()}")


def wanted(ways: Mapping[str, Mapping[str, str]]) -> dict[str, dict[str, str]]:
    """Return the choice with everything dropped that isn't offered."""
    return {
        row: {way: ways[row][way] for way in WAYS if ways.get(row, {}).get(way) in WAYS[way]} for row in ROWS
    }


@functools.cache
def zones() -> tuple[str, ...]:
    """Return the names of the time zones that this machine knows, sorted."""
    return tuple(sorted(zoneinfo.available_timezones()))
