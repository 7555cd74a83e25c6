"""What reached the world outside, of every run: each effect once, the newest first, narrowed by filters in the address.

No index knows states or tools. So a page looks at the newest effects before its end, and no further than `WINDOW`;
there the reader may go on. Contradictions are few and have an index, and so have words.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlencode

from django.db.models import Max, OuterRef, Q, QuerySet, Subquery

from runs import exact, lifecycle, models
from runs.models import scopes
from runs.selectors import attachments, deciding, keyset, ledger, page_models, read_back, tools
from runs.selectors import filters as searching

SIZE = 50
WINDOW = 5_000
NAMED = 200
CONTRADICTED = "contradicted"
STATES = (
    ("", "Everything"),
    (lifecycle.Occurrence.STANDING, "Happened"),
    (lifecycle.Occurrence.UNKNOWN, "Unknown"),
    (lifecycle.Occurrence.OPEN, "Being done now"),
    (lifecycle.Occurrence.UNDONE, "Undone"),
    (lifecycle.Occurrence.VOID, "Did not happen"),
    (CONTRADICTED, "Contradicted"),
)


@dataclass(frozen=True, kw_only=True)
class Row:
    """One effect."""

    number: int
    what: str
    where: str
    tool: str
    tier: int
    state: str
    at: datetime.datetime
    key: str
    digest: str  # of the arguments that were sent
    sends: int
    run_id: int  # the attempt that did it
    run_title: str
    agent: str
    outcome: str
    known: str  # how it is known
    receipt: str  # canonical JSON text
    contradicted: bool
    undo_run: int | None
    verification: str  # in words; the look itself is `looked`
    looked: read_back.ReadBack | None = None
    files: tuple[attachments.Attachment, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Filters:
    """What is asked for, as it stands in the address."""

    state: str = ""
    tool: str = ""
    agent: str = ""
    words: str = ""

    def query(self, **other: str) -> str:
        """Return the address' part for these filters, some of them otherwise."""
        found = {"state": self.state, "tool": self.tool, "agent": self.agent, "q": self.words} | other
        return urlencode({name: value for name, value in found.items() if value})

    @property
    def narrowed(self) -> bool:
        """Return whether anything is left out."""
        return bool(self.state or self.tool or self.agent or self.words)


@dataclass(frozen=True, kw_only=True)
class Page:
    rows: tuple[Row, ...]
    filters: Filters
    states: tuple[page_models.Choice, ...]
    tools: tuple[tuple[str, str], ...]  # name, title
    agents: tuple[tuple[str, str], ...]
    query: str
    older: str = ""
    further: str = ""  # nothing more in what was looked at; further back there may be
    first: bool = True


def read(params: Mapping[str, str]) -> Filters:
    """Return the filters of an address; what isn't one is left out."""
    params = {name: value.replace("\x00", "") for name, value in params.items()}
    state = params.get("state", "")
    return Filters(
        state=state if state in {name for name, _ in STATES} else "",
        tool=params.get("tool", "")[:120],
        agent=params.get("agent", "")[:120],
        words=params.get("q", "").strip()[:500],
    )


def page(viewer: deciding.Viewer, params: Mapping[str, str]) -> Page:
    """Return one page of effects."""
    filters = read(params)
    newest = models.Occurrence.objects.aggregate(top=Max("pk"))["top"] or 0
    cursor = params.get("before", "")
    top = (
        min(int(cursor), newest + 1)
        if cursor.isascii() and cursor.isdecimal() and len(cursor) < 19
        else newest + 1
    )
    found, bottom = window(viewer, filters, top=top)
    searched = bool(filters.words) and not exact.is_digest(filters.words.lower())
    occurrences = keyset.nearest(found, SIZE + 1, start=top) if searched else list(found[: SIZE + 1])
    shown = occurrences[:SIZE]
    more = len(occurrences) > SIZE
    agents = (
        models.Agent.objects.filter(scopes.seen(viewer.user, "pk"))
        .order_by("name")
        .values_list("name", "title")[:NAMED]
    )
    return Page(
        rows=rows(shown),
        filters=filters,
        states=tuple(
            page_models.Choice(label=label, query=filters.query(state=name), current=name == filters.state)
            for name, label in STATES
        ),
        tools=tuple((tool.name, tools.title(tool.name)) for tool in tools.seen(viewer.user) if tool.risk()),
        agents=tuple((name, title or name) for name, title in agents),
        query=filters.query(),
        older=filters.query(before=str(shown[-1].pk)) if more else "",
        further=filters.query(before=str(bottom)) if not more and bottom > 1 else "",
        first=top > newest,
    )


def fitting(viewer: deciding.Viewer, filters: Filters) -> QuerySet[models.Occurrence]:
    """Return all effects that fit and that this person may see."""
    # Of each effect that is looked at, and not the other way round: a busy agent has very many.
    agent = models.Run.objects.filter(pk=OuterRef("root")).values("agent_version__agent__name")[:1]
    return models.Occurrence.objects.alias(agent=Subquery(agent)).filter(
        scopes.seen(viewer.user, "root__agent_version__agent"), condition(filters)
    )


def window(viewer: deciding.Viewer, filters: Filters, *, top: int) -> tuple[QuerySet[models.Occurrence], int]:
    """Return the effects before `top` that fit, newest first, and the number down to which they are looked for."""
    found = fitting(viewer, filters).filter(pk__lt=top).order_by("-pk")
    if filters.state == CONTRADICTED or filters.words:
        return found, 0
    bottom = max(0, top - WINDOW)
    return found.filter(pk__gte=bottom), bottom


def condition(filters: Filters) -> Q:
    """Return the condition of the filters."""
    found = Q()
    if filters.state == CONTRADICTED:
        found &= Q(contradicted=True)
    elif filters.state:
        found &= Q(state=filters.state)
    if filters.tool:
        found &= Q(tool=filters.tool)
    if filters.agent:
        found &= Q(agent=filters.agent)
    if exact.is_digest(filters.words.lower()):
        found &= Q(key=filters.words.lower())
    elif filters.words:
        found &= searching.effects_found(filters.words)
    return found


def rows(occurrences: Sequence[models.Occurrence]) -> tuple[Row, ...]:
    """Return the effects with what is known about each, in a fixed number of queries."""
    owners = {
        action.pk: action
        for action in models.Action.objects.filter(pk__in=[row.owner_id for row in occurrences])
        .select_related("run__agent_version__agent")
        .defer("precondition", "terms", "run__input", "run__path", "run__waivers")
    }
    pairs = [(row, owners[row.owner_id]) for row in occurrences if row.owner_id in owners]
    for row, action in pairs:
        action.occurrence, row.owner = row, action
    actions = [action for _, action in pairs]
    receipts, known = ledger.receipts(actions), ledger.sources(actions)
    undone = models.Action.objects.filter(
        undo_of__in=[row.pk for row in occurrences], status=lifecycle.Action.SUCCEEDED
    )
    undos = dict(undone.values_list("undo_of", "run"))
    looked = read_back.newest([row.pk for row in occurrences])
    found = [
        replace(_row(row, action, receipts.get(action.pk), known, undos), looked=looked.get(row.pk))
        for row, action in pairs
    ]
    files = attachments.of({row.number: exact.stored(row.receipt) for row in found if row.receipt}, run_id=0)
    return tuple(
        replace(row, files=tuple(replace(file, run_id=row.run_id) for file in files.get(row.number, ())))
        for row in found
    )


def _row(
    row: models.Occurrence,
    action: models.Action,
    receipt: Mapping[str, Any] | None,
    known: Mapping[int, str],
    undos: Mapping[int, int],
) -> Row:
    shown = action.preview or {}
    agent = action.run.agent_version.agent
    return Row(
        number=row.pk,
        what=str(shown.get("summary") or tools.title(row.tool)),
        where=str(shown.get("target") or ""),
        tool=row.tool,
        tier=action.tier,
        state=row.state,
        at=row.settled_at or row.first_sent_at or row.created_at,
        key=row.key,
        digest=action.digest,
        sends=action.attempt,
        run_id=action.run_id,
        run_title=action.run.title,
        agent=agent.title or agent.name,
        outcome=str((receipt or {}).get("summary") or action.error),
        known=known.get(action.pk, ""),
        receipt=exact.text_of(receipt) if receipt else "",
        contradicted=row.contradicted,
        undo_run=undos.get(row.pk),
        verification=read_back.WORDS[row.verification][0] if row.verification else "",
    )
