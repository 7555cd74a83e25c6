"""Lines of a run's log as pages read them: whole where they are small, else their beginning."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Case, QuerySet, TextField, Value, When
from django.db.models.functions import Cast, Left, Length

from runs import lifecycle, models
from runs.state import CallId

SMALL = 60_000
BEGINNING = 4_000
_UNUSABLE = r'"bad(_rows)?":\[[^]]'
"""A list of unusable rows with something in it; a text can't hold this, its quotation marks are escaped."""


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line; `text` is the stored JSON or its beginning, `content` what could be read of it."""

    position: int
    kind: str
    text: str
    whole: bool
    size: int
    content: Mapping[str, Any]
    number: int | None
    boundary: str
    head: str
    created_at: datetime.datetime
    unusable: bool = False

    @property
    def call(self) -> CallId | None:
        """Return the call that this line is about, if it is about one."""
        found = self.content.get("call")
        return (found[0], found[1]) if isinstance(found, list) and len(found) == 2 else None


def cut(rows: QuerySet[models.Entry]) -> QuerySet[models.Entry]:
    """Return the lines with `size` and `shown`, so that a huge one costs no more than its beginning."""
    text = Cast("content", TextField())
    shown = Case(
        When(size__lte=Value(SMALL), then=text), default=Left(text, BEGINNING), output_field=TextField()
    )
    return rows.defer("content", "counters").annotate(
        raw=text, size=Length(text), shown=shown, unusable=_unusable()
    )


def line(row: Any) -> Line:
    """Return a row of `cut` as a line."""
    whole = row.size <= SMALL
    return Line(
        position=row.position,
        kind=row.kind,
        text=row.shown,
        whole=whole,
        size=row.size,
        content=json.loads(row.shown) if whole else leading(row.shown),
        number=row.number,
        boundary=row.boundary or "",
        head=row.head,
        created_at=row.created_at,
        unusable=row.unusable and (row.size > SMALL or unusable_rows(json.loads(row.shown)) > 0),
    )


def _unusable() -> Case:
    """Return the condition under which a result may name unusable rows."""
    return Case(
        When(kind=lifecycle.EntryKind.RESULT, raw__regex=_UNUSABLE, then=Value(True)), default=Value(False)
    )


def unusable_rows(content: Mapping[str, Any]) -> int:
    """Return how many rows the tool of this result reported that it could not use."""
    value = content.get("value")
    found = [value.get(name) for name in ("bad_rows", "bad")] if isinstance(value, Mapping) else []
    return max((len(rows) for rows in found if isinstance(rows, list)), default=0)


def newest_unusable(run: models.Run) -> tuple[int, int]:
    """Return the place of the newest result that names unusable rows and how many, or (0, 0); one query."""
    rows = models.Entry.objects.filter(run=run, kind=lifecycle.EntryKind.RESULT)
    rows = rows.alias(raw=Cast("content", TextField())).filter(raw__contains='"bad', raw__regex=_UNUSABLE)
    for position, content in rows.order_by("-position").values_list("position", "content")[:3]:
        if count := unusable_rows(content):
            return position, count
    return 0, 0


def leading(text: str) -> dict[str, Any]:
    """Return the members of a JSON object that stand whole in the beginning `text` of it."""
    decoder = json.JSONDecoder()
    found: dict[str, Any] = {}
    at = 1
    while at < len(text):
        try:
            name, at = decoder.raw_decode(text, at)
            value, at = decoder.raw_decode(text, at + 1)
        except ValueError:
            break
        if at >= len(text):
            break  # a number may go on behind the cut
        found[name] = value
        at += 1
    return found


@dataclass(frozen=True, kw_only=True)
class Names:
    """The actions and steps that lines speak of."""

    actions: Mapping[CallId, models.Action]
    steps: Mapping[str, str]
    reviews: Mapping[int, models.Review]
    people: Mapping[str, str]
    together: Mapping[int, tuple[str, ...]]  # who approved, where it took several
    dry_run: bool = False  # of a run that only tries things out

    def person(self, username: str) -> str:
        """Return the name to show for somebody whom the log names."""
        return self.people.get(username, username)

    def action(self, found: Line) -> models.Action | None:
        """Return the action that the line is about."""
        return self.actions.get(found.call) if found.call else None


def names(run: models.Run, lines: Iterable[Line], *, viewer: models.User) -> Names:
    """Return what the lines speak of, in four queries; `viewer` is called "You"."""
    found = list(lines)
    replies = {call[0] for item in found if (call := item.call)} | {
        item.position for item in found if item.kind == "reply"
    }
    actions = {
        (row.reply_position, row.call_index): row
        for row in models.Action.objects.filter(run=run, reply_position__in=replies).defer(
            "precondition", "terms", "identity"
        )
    }
    keys = {str(item.content["step"]) for item in found if item.content.get("step")}
    keys |= {action.step for action in actions.values() if action.step}
    keys |= {
        str(call["step"])
        for item in found
        for call in item.content.get("calls", [])
        if isinstance(call, dict) and call.get("step")
    }
    steps = dict(models.PlanStep.objects.filter(run=run, key__in=keys).values_list("key", "title"))
    asked = {number for item in found if isinstance(number := item.content.get("review"), int)}
    reviews = {row.pk: row for row in models.Review.objects.filter(run=run, pk__in=asked)}
    together = _together(reviews)
    named = {who for each in together.values() for who in each}
    named |= {str(item.content["by"]) for item in found if item.content.get("by")}
    named |= {str(item.content["author"]) for item in found if item.content.get("author")}
    users = models.User.objects.filter(username__in=named | {run.created_by.username})
    people = {user.username: "You" if user.pk == viewer.pk else user.display() for user in users}
    dry_run = run.mode == models.Run.Mode.DRY_RUN
    return Names(
        actions=actions, steps=steps, reviews=reviews, people=people, together=together, dry_run=dry_run
    )


def _together(reviews: Mapping[int, models.Review]) -> dict[int, tuple[str, ...]]:
    """Return who approved these, for those that needed several people: none is asked for where there is none."""
    several = {row.pk: row.revision for row in reviews.values() if row.quorum > 1 and row.votes > 1}
    found: dict[int, tuple[str, ...]] = {}
    if several:
        rows = models.Decision.objects.filter(review__in=several, verdict="approve").order_by("pk")
        for review, revision, who in rows.values_list("review", "revision", "person__username"):
            if several[review] == revision:
                found[review] = (*found.get(review, ()), who)
    return found
