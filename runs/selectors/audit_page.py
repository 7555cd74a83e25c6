"""The audit page: who did what to what, on which bytes, under which policy; and what was refused."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs import exact, models
from runs.selectors import audit_filters, audit_words, blind, keyset, page_models

SIZE, PRINTED = 50, 500
NAMED = 200
"""So many people are offered by name; any other name can be typed."""
PEOPLE = ("actor", "on_behalf_of", "policy_version__policy")


@dataclass(frozen=True, kw_only=True)
class Row:
    """One line of the chain, or one refused attempt."""

    number: int
    at: datetime.datetime
    who: str  # user name; empty for clock and engine
    behalf: str
    what: str
    act: str
    subject: str
    object: str  # "run", "review" or "" and its number: what the subject leads to
    object_id: int
    title: str  # of what it is about
    run_id: int | None
    run_title: str
    channel: str
    ip: str
    policy: str
    facts: tuple[audit_words.Line, ...] = ()
    changes: tuple[audit_words.Change, ...] = ()
    content: str = ""  # canonical JSON text
    seen: str = ""
    hash: str = ""
    previous: str = ""
    withheld: bool = False  # who it was isn't told yet
    code: str = ""  # of a refusal
    reason: str = ""


@dataclass(frozen=True, kw_only=True)
class Chain:
    """How far the chain was checked, when and for whom; `broken` says what doesn't agree."""

    length: int
    head: str
    checked: int  # the last line that agreed
    at: datetime.datetime | None
    by: str
    broken: str
    first: int  # the line from which the last check went
    running: bool
    reached: int  # how far the one that is under way has come

    @property
    def unchecked(self) -> int:
        """Return how many lines came after."""
        return self.length - self.checked


@dataclass(frozen=True, kw_only=True)
class Page:
    rows: tuple[Row, ...]
    filters: audit_filters.Filters
    tabs: tuple[page_models.Choice, ...]
    acts: tuple[tuple[str, str], ...]
    channels: tuple[tuple[str, str], ...]
    people: tuple[str, ...]
    page: page_models.Page
    query: str
    chain: Chain
    printing: bool


def page(params: Mapping[str, str], *, unread: frozenset[int]) -> Page:
    """Return one page of the trail, the newest first; `unread` as in the file."""
    filters = audit_filters.read(params)
    printing = params.get("print") == "1"
    size = PRINTED if printing else SIZE
    keep = filters.parts | ({"print": "1"} if printing else {})
    rows: tuple[Row, ...]
    if filters.refused:
        tried, links = keyset.page(
            audit_filters.refusals(filters).select_related("actor", "on_behalf_of"),
            by=("id",),
            params=params,
            size=size,
            keep=keep,
        )
        rows = refusal_rows(tried)
    else:
        found, links = keyset.page(
            audit_filters.events(filters, unread).select_related(*PEOPLE),
            by=("seq",),
            params=params,
            size=size,
            keep=keep,
        )
        rows = event_rows(found, unread)
    every = models.User.objects.order_by("username").values_list("username", flat=True)
    acts = audit_words.TRIED if filters.refused else audit_words.ACTS
    return Page(
        rows=rows,
        filters=filters,
        tabs=(
            page_models.Choice(
                label="What people did",
                query=filters.query(refused="", act="", who=audit_filters.ANYBODY),
                current=not filters.refused and filters.who == audit_filters.ANYBODY,
            ),
            page_models.Choice(
                label="Everything",
                query=filters.query(refused="", act="", who=""),
                current=not filters.refused and filters.who != audit_filters.ANYBODY,
            ),
            page_models.Choice(
                label="What was refused",
                query=filters.query(refused="1", act=""),
                current=bool(filters.refused),
            ),
        ),
        acts=tuple(acts.items()),
        channels=tuple(audit_words.CHANNELS.items()),
        people=tuple(every[:NAMED]),
        page=links,
        query=filters.query(),
        chain=chain(),
        printing=printing,
    )


def chain() -> Chain:
    """Return how far the chain was checked."""
    head = models.AuditHead.objects.get(pk=1)
    newest = list(models.ChainCheck.objects.select_related("asked_by").order_by("-pk")[:2])
    running = next((row for row in newest if row.ended_at is None), None)
    last = next((row for row in newest if row.ended_at is not None), None)
    return Chain(
        length=head.seq,
        head=head.hash,
        checked=last.seq if last else 0,
        at=last.ended_at if last else None,
        by=last.asked_by.get_username() if last else "",
        broken=last.broken if last else "",
        first=last.first if last else 0,
        running=running is not None,
        reached=running.seq if running else 0,
    )


def event_rows(found: Sequence[models.AuditEvent], unread: frozenset[int]) -> tuple[Row, ...]:
    """Return lines of the chain as they are shown, in a fixed number of queries."""
    names = _Names(found)
    return tuple(
        Row(
            number=row.seq,
            what=audit_words.act(row.act),
            policy=str(row.policy_version) if row.policy_version else "",
            facts=audit_words.facts(row.content),
            changes=audit_words.changes(row.content),
            content=exact.canonical(row.content, limit=None),
            seen=row.seen or "",
            hash=row.hash,
            previous=row.previous,
            withheld=blind.hides(row, unread),
            **names.of(row),
        )
        for row in blind.veiled(found, unread)
    )


def refusal_rows(found: Sequence[models.Refusal]) -> tuple[Row, ...]:
    """Return refused attempts as they are shown, in a fixed number of queries."""
    names = _Names(found)
    return tuple(
        Row(
            number=row.pk,
            what=audit_words.tried(row.act),
            policy="",
            code=audit_words.CODES.get(row.code, row.code),
            reason=row.reason,
            **names.of(row),
        )
        for row in found
    )


class _Names:
    """What the subjects and runs of some lines are called, read once for all of them."""

    def __init__(self, rows: Sequence[models.AuditEvent] | Sequence[models.Refusal]) -> None:
        asked = [_numbered(row.subject) for row in rows]
        reviews = [number for kind, number in asked if kind == "review"]
        people = [number for kind, number in asked if kind == "user"]
        runs = {row.run_id for row in rows if row.run_id is not None}
        self.reviews = dict(models.Review.objects.filter(pk__in=reviews).values_list("pk", "title"))
        self.people = dict(models.User.objects.filter(pk__in=people).values_list("pk", "username"))
        self.runs = dict(models.Run.objects.filter(pk__in=runs).values_list("pk", "title"))

    def of(self, row: models.AuditEvent | models.Refusal) -> dict[str, Any]:
        """Return the fields that acts and refusals share: who, when, through which door, and about what."""
        kind, number = _numbered(row.subject)
        titles = {"review": self.reviews, "user": self.people, "run": self.runs}.get(kind, {})
        there = number in titles
        return {
            "at": row.at,
            "who": row.actor.get_username() if row.actor else "",
            "behalf": row.on_behalf_of.get_username() if row.on_behalf_of else "",
            "act": row.act,
            "channel": row.channel,
            "ip": row.ip or "",
            "subject": row.subject,
            "object": kind if there and kind != "user" else "",
            "object_id": number,
            "title": titles.get(number, ""),
            "run_id": row.run_id,
            "run_title": self.runs.get(row.run_id or 0, ""),
        }


def _numbered(subject: str) -> tuple[str, int]:
    kind, _, text = subject.partition(" ")
    return (kind, int(text)) if text.isascii() and text.isdecimal() and len(text) < 19 else ("", 0)
