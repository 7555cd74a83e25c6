"""What the audit page is narrowed to, as it stands in its address, and the rows of the trail that this leaves."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TypeVar
from urllib.parse import urlencode

from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.dateparse import parse_date

from runs import models
from runs.selectors import audit_words, blind

NOBODY, ANYBODY = "-", "*"
"""Stand for the clock and the engine, which are nobody, and for whoever is a person."""


Line = TypeVar("Line", models.AuditEvent, models.Refusal)


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What is asked for; an empty text leaves nothing out."""

    refused: str = ""
    who: str = ""
    act: str = ""
    run: str = ""
    lineage: str = ""
    object: str = ""
    channel: str = ""
    since: str = ""
    until: str = ""

    @property
    def parts(self) -> dict[str, str]:
        """Return the parameters of the address."""
        found = {item.name: getattr(self, item.name) for item in fields(self)}
        return {name: value for name, value in found.items() if value}

    @property
    def narrowed(self) -> bool:
        """Return whether anything is left out."""
        return bool(self.parts.keys() - {"refused"}) and self.parts != {"who": ANYBODY}

    @property
    def said(self) -> str:
        """Return what is left of the trail, in words, for paper."""
        acts = audit_words.TRIED if self.refused else audit_words.ACTS
        who = {ANYBODY: "people", "-": "the clock and the engine"}.get(self.who, self.who)
        found = [
            "what was refused" if self.refused else "",
            f"by {who}" if who else "",
            f"“{acts.get(self.act, self.act)}”" if self.act else "",
            f"of run {self.run}{' and its other attempts' if self.lineage else ''}" if self.run else "",
            f"about {self.object}" if self.object else "",
            f"by way of {audit_words.CHANNELS.get(self.channel, self.channel)}" if self.channel else "",
            f"from {self.since}" if self.since else "",
            f"to {self.until}" if self.until else "",
        ]
        return ", ".join(part for part in found if part)

    def query(self, **other: str) -> str:
        """Return the address' part for these filters, some of them otherwise."""
        return urlencode({name: value for name, value in (self.parts | other).items() if value})


def read(params: Mapping[str, str]) -> Filters:
    """Return the filters of an address; what can't be one is left out."""
    given = {name: value.replace("\x00", "").strip() for name, value in params.items()}
    acts = audit_words.TRIED if given.get("refused") == "1" else audit_words.ACTS
    act, channel = given.get("act", ""), given.get("channel", "")
    run = given.get("run", "").lstrip("#")
    number = run if run.isascii() and run.isdecimal() and len(run) < 19 else ""
    return Filters(
        refused="1" if given.get("refused") == "1" else "",
        who=given.get("who", "")[:150],
        act=act if act in acts else "",
        run=number,
        lineage="1" if number and given.get("lineage") == "1" else "",
        object=given.get("object", "")[:80],
        channel=channel if channel in audit_words.CHANNELS else "",
        since=_day(given.get("since", "")),
        until=_day(given.get("until", "")),
    )


def _day(text: str) -> str:
    try:
        day = parse_date(text)
    except ValueError:
        return ""
    return day.isoformat() if day is not None and 1970 <= day.year < 9999 else ""


def events(filters: Filters, unread: frozenset[int]) -> QuerySet[models.AuditEvent]:
    """Return the lines of the chain that fit, in no order yet; none that would show by fitting what isn't read yet."""
    rows = _fitting(models.AuditEvent.objects.order_by(), filters)
    told = filters.who not in {"", ANYBODY} or filters.channel
    return rows.exclude(act=blind.APPROVED, subject__in=blind.subjects(unread)) if told and unread else rows


def refusals(filters: Filters) -> QuerySet[models.Refusal]:
    """Return the refused attempts that fit, in no order yet."""
    return _fitting(models.Refusal.objects.order_by(), filters)


def _fitting(every: QuerySet[Line], filters: Filters) -> QuerySet[Line]:
    """Return those of the rows that fit. A day's bounds are looked up first, by the index over the time."""
    rows = every.filter(_condition(filters))
    since, until = _bounds(filters)
    if since is not None:
        first = every.filter(at__gte=since).order_by("at", "pk").values_list("pk", flat=True).first()
        rows = rows.none() if first is None else rows.filter(pk__gte=first)
    if until is not None:
        last = every.filter(at__lt=until).order_by("-at", "-pk").values_list("pk", flat=True).first()
        rows = rows.none() if last is None else rows.filter(pk__lte=last)
    return rows


def _condition(filters: Filters) -> Q:
    found = Q()
    if filters.who == NOBODY:
        found &= Q(actor__isnull=True)
    elif filters.who == ANYBODY:
        found &= Q(actor__isnull=False)
    elif filters.who:
        person = models.User.objects.filter(username=filters.who).values_list("pk", flat=True).first()
        found &= Q(actor=person) if person is not None else Q(pk__in=[])
    if filters.act:
        found &= Q(act=filters.act)
    if filters.lineage:
        root = models.Run.objects.filter(pk=int(filters.run)).values_list("root", flat=True).first()
        found &= Q(run__in=list(models.Run.objects.filter(root=root).values_list("pk", flat=True)))
    elif filters.run:
        found &= Q(run=int(filters.run))
    if filters.object:
        found &= Q(subject=filters.object)
    if filters.channel:
        found &= Q(channel=filters.channel)
    return found


def _bounds(filters: Filters) -> tuple[datetime.datetime | None, datetime.datetime | None]:
    """Return the first moment of the first day and the one after the last, where the reader is."""
    zone, one = timezone.get_current_timezone(), datetime.timedelta(days=1)
    since, until = parse_date(filters.since), parse_date(filters.until)

    def start(day: datetime.date) -> datetime.datetime:
        return datetime.datetime.combine(day, datetime.time.min, tzinfo=zone)

    return (start(since) if since else None), (start(until + one) if until else None)
