"""The open questions: one query counts them for badge, tabs, list and filters, and one order lists them."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

from django.db.models import (
    BooleanField,
    Case,
    Count,
    Exists,
    ExpressionWrapper,
    F,
    FilteredRelation,
    Max,
    OuterRef,
    Q,
    QuerySet,
    TextField,
    Value,
    When,
)
from django.db.models.expressions import Combinable
from django.db.models.functions import Cast
from django.db.models.lookups import LessThan

from runs import lifecycle, models, rights
from runs.models import scopes, team
from runs.selectors import deciding, now
from runs.selectors.filters import KINDS, MINE, SNOOZED, TEAM, TIERS, Filters

ORDER = ("due_at", "id")
LOOK_AHEAD = 100


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many questions each tab holds, what the filters leave of the current one, and what each chip would leave.

    `badge` is the tab that somebody finds first; `newest` is the highest id among all open ones.
    """

    badge: int
    by_tab: dict[str, int]
    shown: int
    newest: int
    tiers: dict[int, int]
    kinds: dict[str, int]
    overdue: int
    agents: tuple[tuple[str, str, int], ...]
    """Name, title and count of the agents whose questions are left, the most frequent first."""
    every: tuple[tuple[str, str], ...]
    """Name and title of each agent that has an open question, by title."""


def open_reviews() -> QuerySet[models.Review]:
    """Return every open question, for lists that go by runs which somebody may see."""
    return models.Review.objects.filter(status=lifecycle.Review.OPEN)


def answers(viewer: deciding.Viewer) -> bool:
    """Return whether this person may answer anything; who may not sees everything, and only looks."""
    return any(
        viewer.may(act) for act in (rights.Act.DECIDE, rights.Act.ANSWER_FAILURE, rights.Act.RAISE_BUDGET)
    )


def tab(viewer: deciding.Viewer, chosen: Filters) -> str:
    """Return the tab of open questions that is looked at: the chosen one where there is such a thing for them."""
    own = answers(viewer)
    if chosen.tab == TEAM or not own:
        return TEAM
    return chosen.tab if chosen.tab in {MINE, SNOOZED} else MINE


def _own(viewer: deciding.Viewer) -> Q:
    """Return the condition under which this person may answer a question."""
    found = Q(pk__in=[])
    if viewer.may(rights.Act.DECIDE):
        named = viewer.roles | deciding.desk(viewer).in_place
        decide = ~Q(kind__in=list(rights.OWN_RIGHT))
        found |= decide if rights.ADMIN in named else decide & _asks(named)
    for kind, act in rights.OWN_RIGHT.items():
        if viewer.may(act):
            found |= Q(kind=kind)
    return found


def _asks(groups: frozenset[str]) -> Q:
    """Return the condition that one of these groups is asked."""
    named = [Q(asked__contains=f'"{group}"') for group in sorted(groups)]
    return functools.reduce(operator.or_, named, Q(pk__in=[]))


def _first(viewer: deciding.Viewer) -> Q:
    """Return the condition that a question is this person's first: who is on duty for its group gets it before others.

    Once it is due the others of the group have it too. It is everybody's at once where nobody is on duty, and where
    those who are can't decide it by themselves: else nobody would find it.
    """
    covered = {group: on for group, on in deciding.desk(viewer).covered.items() if group in viewer.roles}
    if not covered or rights.ADMIN in viewer.roles:
        return Q()
    others = (viewer.roles - covered.keys()) | deciding.desk(viewer).in_place
    due, own = Q(due_at__lte=now.ClockNow()), Q(kind__in=list(rights.OWN_RIGHT))
    found = due | own | Q(handover__to=viewer.user) | _asks(others)
    for group, on in covered.items():
        found |= _asks(frozenset({group})) & _too_few(on)
    return found


def _too_few(on: tuple[team.OnDuty, ...]) -> Q:
    """Return the condition that of these people fewer may release it than it needs."""
    able: Combinable = Value(0)
    for one in on:
        sees = Q() if one.limit is None else Q(run__agent_version__agent__in=sorted(one.limit))
        wrote = models.Revision.objects.filter(action=OuterRef("action"), author=one.person)
        theirs = Q(separation=True) & (Q(run__created_by=one.person) | Q(Exists(wrote)))
        able += Case(When(sees & ~theirs, then=1), default=0)
    return Q(LessThan(able, F("quorum")))


def _tabs(viewer: deciding.Viewer) -> tuple[QuerySet[models.Review], dict[str, Q]]:
    """Return the open questions, and the condition of each tab.

    What somebody put off isn't among theirs until then. What was handed to one person isn't among the others' until
    it is due: from then on a question is everybody's again, so that none is forgotten with somebody who is away.
    """
    rows = (
        open_reviews()
        .filter(scopes.seen(viewer.user, "run__agent_version__agent"))
        .alias(
            asked=Cast("groups", TextField()),
            put_off=FilteredRelation("snoozes", condition=Q(snoozes__person=viewer.user)),
        )
    )
    every = Q(pk__isnull=False)
    if not answers(viewer):
        return rows, {TEAM: every}
    own = _own(viewer)
    snoozed = Q(put_off__until__gt=now.ClockNow())
    awake = Q(put_off__isnull=True) | Q(put_off__until__lte=now.ClockNow())
    here = Q(handover__isnull=True) | Q(handover__to=viewer.user) | Q(due_at__lte=now.ClockNow())
    # Of open ones, said once more: the server may read all of these at once, and not all that somebody ever gave.
    voted = models.Decision.objects.filter(
        review=OuterRef("pk"),
        revision=OuterRef("revision"),
        person=viewer.user,
        review__status=lifecycle.Review.OPEN,
    )
    open_to_me = Q(~Exists(voted))  # who has answered waits for the others
    return rows, {MINE: own & awake & here & open_to_me & _first(viewer), TEAM: every, SNOOZED: own & snoozed}


def listed(viewer: deciding.Viewer, chosen: Filters) -> QuerySet[models.Review]:
    """Return the open questions of the chosen tab that the filters leave: what is counted is what is listed."""
    rows, tabs = _tabs(viewer)
    return rows.filter(tabs[tab(viewer, chosen)] & chosen.condition(of_open=True))


def badge(viewer: deciding.Viewer) -> int:
    """Return how many questions the tab holds that somebody finds first."""
    known: int | None = getattr(
        viewer.user, "_badge_of_request", None
    )  # where the page has counted them already
    if known is not None:
        return known
    rows, tabs = _tabs(viewer)
    return rows.filter(tabs.get(MINE, tabs[TEAM])).count()


def counts(viewer: deciding.Viewer, chosen: Filters | None = None) -> Counts:
    """Return the counts of the open questions, in one query: of groups that are alike, which are then added up.

    A query with a condition for each count took 60 ms to build, on every page.
    """
    chosen = chosen or Filters()
    rows, tabs = _tabs(viewer)
    rest = chosen.but(kind="", tier=None, overdue=False).condition(of_open=True)
    conditions = {f"in_{name}": condition for name, condition in tabs.items()}
    conditions |= {"late": Q(due_at__lt=now.ClockNow()), "rest": rest or Q(pk__isnull=False)}
    groups = list(
        rows.annotate(
            of_tier=Case(When(action__isnull=False, then=F("tier"))),
            **{name: ExpressionWrapper(each, BooleanField()) for name, each in conditions.items()},
        )
        .order_by()
        .values(
            "kind",
            "of_tier",
            "run__agent_version__agent__name",
            "run__agent_version__agent__title",
            *conditions,
        )
        .annotate(n=Count("pk"), newest=Max("pk"))
    )
    here = f"in_{tab(viewer, chosen)}"

    def left(
        *,
        kind: str = chosen.kind,
        tier: int | None = chosen.tier,
        late: bool = chosen.overdue,
        agent: str = "",
    ) -> int:
        return sum(
            group["n"]
            for group in groups
            if group[here]
            and agent in {"", group["run__agent_version__agent__name"]}
            and group["rest"]
            and kind in {"", group["kind"]}
            and tier in {None, group["of_tier"]}
            and (group["late"] or not late)
        )

    names = {
        group["run__agent_version__agent__name"]: group["run__agent_version__agent__title"]
        for group in groups
    }
    asking = [(name, title or name, count) for name, title in names.items() if (count := left(agent=name))]
    by_tab = {name: sum(group["n"] for group in groups if group[f"in_{name}"]) for name in tabs}
    viewer.user._badge_of_request = by_tab.get(MINE, by_tab[TEAM])  # type: ignore[attr-defined]  # see `badge`
    return Counts(
        badge=by_tab.get(MINE, by_tab[TEAM]),
        by_tab=by_tab,
        shown=left(),
        newest=max((group["newest"] for group in groups), default=0),
        tiers={number: left(tier=number) for number in TIERS},
        kinds={kind: left(kind=kind) for kind in KINDS},
        overdue=left(late=True),
        agents=tuple(sorted(asking, key=lambda one: (-one[2], one[0]))),
        every=tuple(sorted(names.items(), key=lambda one: (one[1], one[0]))),
    )


def next_for(viewer: deciding.Viewer, *, after: models.Review, chosen: Filters | None = None) -> int | None:
    """Return the next open question of the list one comes from that this person can answer: the later due ones first,
    then from the top."""
    rows = list(
        _answerable(viewer, chosen or Filters())
        .exclude(pk=after.pk)
        .select_related("run", "action")
        .only("due_at", "kind", "groups", "separation", "status", "run__created_by", "action__undo_of")
        .order_by(*ORDER)[:LOOK_AHEAD]
    )
    others = deciding.held_by_others(viewer.user) if any(row.separation for row in rows) else frozenset()
    written = deciding.written_by(viewer.user, rows)
    mine = [
        row
        for row in rows
        if not deciding.blocked(row, viewer)
        and not deciding.approval_blocked(row, viewer, others=others, written=written)
    ]
    later = [row for row in mine if (row.due_at, row.pk) > (after.due_at, after.pk)]
    return (later or mine)[0].pk if mine else None


def _answerable(viewer: deciding.Viewer, chosen: Filters) -> QuerySet[models.Review]:
    rows = listed(viewer, chosen)
    if tab(viewer, chosen) != TEAM or not answers(viewer):
        return rows
    return rows.filter(_tabs(viewer)[1][MINE])


def neighbours(
    viewer: deciding.Viewer, review: models.Review, chosen: Filters
) -> tuple[int | None, int | None]:
    """Return the question before and the one after this one in the list that one comes from, in one query."""
    key = (review.due_at, review.pk)
    rows = listed(viewer, chosen).exclude(pk=review.pk)
    past = Q(due_at__lt=key[0]) | Q(due_at=key[0], pk__lt=key[1])
    ahead = Q(due_at__gt=key[0]) | Q(due_at=key[0], pk__gt=key[1])
    before = rows.filter(past).order_by("-due_at", "-pk").values_list("due_at", "pk")[:1]
    after = rows.filter(ahead).order_by("due_at", "pk").values_list("due_at", "pk")[:1]
    near = sorted(before.union(after, all=True))
    previous = next((pk for due, pk in near if (due, pk) < key), None)
    following = next((pk for due, pk in near if (due, pk) > key), None)
    return previous, following
