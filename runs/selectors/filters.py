"""What a list of questions is narrowed to: read from an address, written back to one, and as a condition."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import parse_qsl, urlencode

from django.contrib.postgres.search import SearchQuery
from django.db.models import OuterRef, Q, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from runs import finding, labelling, lifecycle, models
from runs.models import run
from runs.selectors import now

MINE, TEAM, SNOOZED, DECIDED = "mine", "team", "snoozed", "decided"
TABS = (MINE, TEAM, SNOOZED, DECIDED)
AGES: dict[str, tuple[str, datetime.timedelta]] = {
    "1h": ("for over an hour", datetime.timedelta(hours=1)),
    "4h": ("for over 4 hours", datetime.timedelta(hours=4)),
    "1d": ("for over a day", datetime.timedelta(days=1)),
}
KINDS: dict[str, str] = {
    lifecycle.ReviewKind.ACTION: "Approvals",
    lifecycle.ReviewKind.PLAN: "Plans",
    lifecycle.ReviewKind.QUESTION: "Questions",
    lifecycle.ReviewKind.IN_DOUBT: "Did it happen?",
    lifecycle.ReviewKind.FAILURE: "Failed runs",
    lifecycle.ReviewKind.BUDGET: "Budget used up",
}
TIERS: dict[int, str] = {3: "Final", 2: "Goes out", 1: "Can be undone"}
LONGEST = 200


@dataclass(frozen=True, kw_only=True)
class Filters:
    """One narrowing of the inbox; empty texts and None leave everything."""

    tab: str = ""
    kind: str = ""
    tier: int | None = None
    overdue: bool = False
    tool: str = ""
    agent: str = ""
    age: str = ""
    q: str = ""
    """What was typed to search for."""
    earlier: bool = False  # of what was decided: not only today's

    @property
    def narrowed(self) -> bool:
        """Return whether anything but the tab is chosen."""
        return self != Filters(tab=self.tab, earlier=self.earlier)

    @property
    def query(self) -> str:
        """Return these as the query string of an address, always in the same order; empty for none."""
        return urlencode(self.parts)

    @property
    def parts(self) -> tuple[tuple[str, str], ...]:
        """Return the parameters of the address, those that say something."""
        parts = {
            "tab": self.tab,
            "kind": self.kind,
            "tier": "" if self.tier is None else str(self.tier),
            "overdue": "1" if self.overdue else "",
            "tool": self.tool,
            "agent": self.agent,
            "age": self.age,
            "q": self.q,
            "earlier": "1" if self.earlier else "",
        }
        return tuple((name, value) for name, value in parts.items() if value)

    def but(self, **other: Any) -> Filters:
        """Return these with other values."""
        return replace(self, **other)

    def condition(self, prefix: str = "", *, of_open: bool = False) -> Q:
        """Return what a question must be; `prefix` leads to it from another table's rows.

        With `of_open` words are looked for in open questions only.
        """
        found = Q()
        if self.kind:
            found &= Q(**{f"{prefix}kind": self.kind})
        if self.tier is not None:
            found &= Q(**{f"{prefix}tier": self.tier, f"{prefix}action__isnull": False})
        if self.overdue:
            found &= Q(**{f"{prefix}due_at__lt": now.ClockNow()})
        if self.tool:
            found &= Q(**{f"{prefix}action__tool": self.tool})
        if self.agent:
            found &= Q(**{f"{prefix}run__agent_version__agent__name": self.agent})
        if self.age:
            found &= Q(**{f"{prefix}opened_at__lt": now.ClockNow() - AGES[self.age][1]})
        if self.q:
            found &= _found(self.q, prefix, of_open=of_open)
        return found


def _found(typed: str, prefix: str, *, of_open: bool) -> Q:
    """Return the condition that a question holds the words that were typed, or is the one of that number."""
    rows = _holding(typed).filter(review__isnull=False)
    number = finding.number(typed)
    if of_open:
        # A value of each one, and no set: that the server would make of all that have the words, open or not.
        holds = rows.filter(review=OuterRef(f"{prefix}pk")).values(held=Value(value=True))[:1]
        found = Q(Coalesce(Subquery(holds), Value(value=False)))
    else:
        found = Q(**{f"{prefix}pk__in": rows.values("review")})
    if number is None:
        return found
    return found | Q(**{f"{prefix}pk": number}) | Q(**{f"{prefix}run": number})


def runs_found(typed: str) -> Q:
    """Return the condition that a run, a question or an effect of it holds the words that were typed; or its number."""
    number = finding.number(typed)
    found = _holding(typed).values("run")
    if number is not None:  # in one set: of "either, or" the server would look at every run
        found = found.union(models.Run.objects.filter(pk=number).values("pk"))
    return Q(pk__in=found)


def labelled(rows: QuerySet[models.Run], label: str) -> QuerySet[models.Run]:
    """Return the runs with this label, written as `name=value`, by their index; none has what can't be a label."""
    try:
        wanted = labelling.of([label])
    except labelling.BadLabels:
        return rows.none()
    rows = rows.exclude(labels={}).alias(labelled=run.LABELS)
    return rows.filter(labelled__contains=wanted)  # type: ignore[misc] # it is taken for the text that it is made from


def effects_found(typed: str) -> Q:
    """Return the condition that an effect holds the words that were typed, or has that number."""
    number = finding.number(typed)
    found = _holding(typed).filter(effect__isnull=False).values("effect")
    if number is not None:
        found = found.union(models.Occurrence.objects.filter(pk=number).values("pk"))
    return Q(pk__in=found)


def _holding(typed: str) -> QuerySet[models.Words]:
    """Return the rows with these words, by the index; none for a number that is written as one."""
    asked = "" if typed.startswith("#") else finding.query(typed)
    if not asked:
        return models.Words.objects.none()
    return models.Words.objects.filter(words=SearchQuery(asked, config="simple", search_type="raw"))


def read(params: Mapping[str, str]) -> Filters:
    """Return what the parameters of an address ask for; what can't be read is left out."""
    tier = params.get("tier", "")
    return Filters(
        tab=_known(params.get("tab", ""), TABS),
        kind=_known(params.get("kind", ""), KINDS),
        tier=int(tier) if tier in {"0", "1", "2", "3"} else None,
        overdue=params.get("overdue") == "1",
        tool=typed(params.get("tool", "")),
        agent=typed(params.get("agent", "")),
        age=_known(params.get("age", ""), AGES),
        q=typed(params.get("q", "")),
        earlier=params.get("earlier") == "1",
    )


def of(query: str) -> Filters:
    """Return the filters of a query string, as a form or a stored view carries it."""
    return read(dict(parse_qsl(query[:2000])))


def _known(value: str, choices: Any) -> str:
    return value if value in choices else ""


def typed(value: str) -> str:
    """Return what somebody typed, as far as it can be looked for."""
    return "" if "\x00" in value else value.strip()[:LONGEST]
