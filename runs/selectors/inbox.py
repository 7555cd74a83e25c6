"""The inbox: what waits for a person and for the others, what they put off, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from django.db.models import Max, Q
from django.utils import timezone

from runs import lifecycle, models
from runs.models import scopes
from runs.selectors import (
    budgets_page,
    deciding,
    filters,
    inbox_models,
    inbox_rows,
    keyset,
    now,
    page_models,
    queue,
    tools,
)
from runs.selectors.filters import DECIDED, MINE, SNOOZED, TEAM, Filters
from runs.tools import contract

SIZE = 50
MANY = 100
AGENTS = 6
"""So many agents can be chosen at once where there is more than a page of questions."""


def page(viewer: deciding.Viewer, params: Mapping[str, str]) -> inbox_models.InboxPage:
    """Return one page of the tab that `params` names."""
    chosen = filters.read(params)
    counted = queue.counts(viewer, chosen)
    tab = DECIDED if chosen.tab == DECIDED else queue.tab(viewer, chosen)
    rows: tuple[inbox_models.InboxRow, ...] = ()
    decided: tuple[inbox_models.DecidedRow, ...] = ()
    keep = dict(chosen.parts)
    if tab == DECIDED:
        lines, paging = keyset.page(
            inbox_rows.decided(viewer, chosen),
            by=("id",),
            params=params,
            size=SIZE,
            keep=keep,
            searched=bool(chosen.q),
        )
        decided = inbox_rows.of_decisions(lines)
        known = _known(_newest_decision(), [line.pk for line in lines])
    else:
        found, paging = keyset.page(
            inbox_rows.waiting(viewer, chosen),
            by=queue.ORDER,
            params=params,
            size=SIZE,
            descending=False,
            keep=keep,
            total=counted.shown,
        )
        rows = inbox_rows.of_reviews(found, viewer)
        known = _known(counted.newest, [row.review_id for row in rows])
    return inbox_models.InboxPage(
        tabs=_tabs(counted, tab),
        tab=tab,
        team=counted.by_tab.get(TEAM, 0),
        filters=_chips(counted, chosen, tab),
        form=_form(viewer, chosen, counted.every),
        rows=rows,
        decided=decided,
        page=paging,
        filtered=chosen.narrowed,
        known=known,
        may_decide=queue.answers(viewer),
        pick=any(row.together for row in rows),
        query=chosen.query,
        views=_views(viewer, chosen),
        earlier=chosen.but(earlier=True).query if tab == DECIDED and not chosen.earlier else "",
        reminders=_reminders(viewer),
        nearly=budgets_page.warnings(
            timezone.localdate(timezone=timezone.get_default_timezone()), viewer.user
        ),
    )


def _views(viewer: deciding.Viewer, chosen: Filters) -> tuple[inbox_models.View, ...]:
    """Return the person's own views and the shared ones, by name; one of them may be what is looked at."""
    rows = models.SavedView.objects.filter(Q(owner=viewer.user) | Q(shared=True)).select_related("owner")
    return tuple(
        inbox_models.View(
            view_id=row.pk,
            name=row.name,
            query=row.query,
            current=row.query == chosen.query,
            mine=row.owner_id == viewer.user.pk,
            shared=row.shared,
            by=row.owner.display(),
        )
        for row in rows.order_by("name", "pk")[:MANY]
    )


def _tabs(counted: queue.Counts, current: str) -> tuple[page_models.Tab, ...]:
    names = {MINE: "Mine", TEAM: "Team", SNOOZED: "Snoozed"}
    if MINE not in counted.by_tab:
        names = {TEAM: "Waiting"}
    default = next(iter(names))
    found = [
        page_models.Tab(
            name=name,
            label=label,
            count=counted.by_tab[name],
            current=name == current,
            query="" if name == default else f"tab={name}",
        )
        for name, label in names.items()
    ]
    last = page_models.Tab(
        name=DECIDED, label="Decided today", count=None, current=current == DECIDED, query=f"tab={DECIDED}"
    )
    return (*found, last)


def _chips(counted: queue.Counts, chosen: Filters, tab: str) -> tuple[page_models.Choice, ...]:
    """Return one chip for everything that could be chosen now, and one to take back for everything that is."""
    open_ones = tab != DECIDED
    found: list[page_models.Choice] = []

    def chip(label: str, other: Filters, *, current: bool, count: int | None) -> None:
        if current or count is None or count:
            found.append(page_models.Choice(label=label, query=other.query, current=current, count=count))

    if open_ones:
        on = chosen.overdue
        chip("Overdue", chosen.but(overdue=not on), current=on, count=counted.overdue)
    for tier, label in filters.TIERS.items():
        on = chosen.tier == tier
        other = chosen.but(tier=None if on else tier)
        chip(label, other, current=on, count=counted.tiers[tier] if open_ones else None)
    for kind, label in filters.KINDS.items():
        on = chosen.kind == kind
        if kind == lifecycle.ReviewKind.ACTION and not on:
            continue  # the tiers say more
        other = chosen.but(kind="" if on else kind)
        chip(label, other, current=on, count=counted.kinds[kind] if open_ones else None)
    if open_ones and not chosen.agent and counted.shown > SIZE and len(counted.agents) > 1:
        for agent, title, asked in counted.agents[:AGENTS]:  # one that asks a lot shall not hide the others
            chip(title, chosen.but(agent=agent), current=False, count=asked)
    for label, value, name in (
        (f"Search: {chosen.q}", chosen.q, "q"),
        (f"Tool: {tools.title(chosen.tool)}", chosen.tool, "tool"),
        (f"Agent: {chosen.agent}", chosen.agent, "agent"),
        (f"Open {filters.AGES[chosen.age][0]}" if chosen.age else "", chosen.age, "age"),
    ):
        if value:
            chip(label, chosen.but(**{name: ""}), current=True, count=None)
    return tuple(found)


def _form(
    viewer: deciding.Viewer, chosen: Filters, asking: Sequence[tuple[str, str]]
) -> inbox_models.FilterForm:
    """Return the form for what has too many values for chips; it works without scripts.

    What is open can be narrowed to an agent that is `asking`, what was decided to any.
    """
    agents = asking[:MANY]
    if chosen.tab == DECIDED:
        every = models.Agent.objects.filter(scopes.seen(viewer.user, "pk")).order_by("title", "name")
        agents = list(every.values_list("name", "title")[:MANY])
    asked = [tool for tool in tools.seen(viewer.user) if tool.effect != contract.Effect.READ][:MANY]
    other = chosen.but(tool="", agent="", age="")
    return inbox_models.FilterForm(
        tools=_options([(tool.name, tool.title or tool.name) for tool in asked], chosen.tool),
        agents=_options([(name, title or name) for name, title in agents], chosen.agent),
        ages=_options([(name, words.capitalize()) for name, (words, _) in filters.AGES.items()], chosen.age),
        kept=other.parts,
        q=chosen.q,
        around=chosen.but(q="").parts,
        elsewhere=_elsewhere(chosen) if chosen.q else (),
        opened=bool(chosen.tool or chosen.agent or chosen.age),
        clear=f"?{Filters(tab=chosen.tab).query}",
    )


def _elsewhere(chosen: Filters) -> tuple[page_models.Choice, ...]:
    """Return the other places where the same words could be looked for."""
    everywhere = Filters(q=chosen.q)
    places = (
        ("All open questions", everywhere.but(tab=TEAM)),
        ("All decisions", everywhere.but(tab=DECIDED, earlier=True)),
    )
    return tuple(
        page_models.Choice(label=label, query=other.query, current=False)
        for label, other in places
        if other != chosen
    )


def _options(pairs: Sequence[tuple[str, str]], chosen: str) -> tuple[inbox_models.Option, ...]:
    if chosen and chosen not in {value for value, _ in pairs}:  # a tool or agent that is gone
        pairs = [(chosen, chosen), *pairs]
    return tuple(
        inbox_models.Option(value=value, label=label, chosen=value == chosen) for value, label in pairs
    )


def _newest_decision() -> int:
    return models.Decision.objects.aggregate(newest=Max("pk"))["newest"] or 0


def _known(newest: int, ids: Sequence[int]) -> str:
    return f"{newest}@{int(timezone.now().timestamp())}:{','.join(str(number) for number in ids)}"


def _reminders(viewer: deciding.Viewer) -> tuple[inbox_models.Reminder, ...]:
    """Return the pauses that this person set and is to be reminded of by now."""
    rows = models.Run.objects.filter(
        status=lifecycle.Run.PAUSED, hold_by=viewer.user, remind_at__lte=now.ClockNow()
    )
    return tuple(
        inbox_models.Reminder(run_id=row.pk, title=row.title, reason=row.hold_reason)
        for row in rows.only("title", "hold_reason").order_by("remind_at")[:SIZE]
    )
