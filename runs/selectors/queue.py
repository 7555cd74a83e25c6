"""The open questions: one query counts them for badge, tab, list and filters, and one order lists them."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass

from django.db.models import Count, Max, Q, QuerySet, TextField
from django.db.models.functions import Cast

from runs import lifecycle, models, rights
from runs.selectors import deciding

ORDER = ("due_at", "id")
LOOK_AHEAD = 100

FILTERS: dict[str, tuple[str, Q]] = {
    "final": ("Final", Q(kind=lifecycle.ReviewKind.ACTION, tier=3)),
    "out": ("Goes out", Q(kind=lifecycle.ReviewKind.ACTION, tier=2)),
    "doubt": ("Did it happen?", Q(kind=lifecycle.ReviewKind.IN_DOUBT)),
    "failed": ("Failed runs", Q(kind=lifecycle.ReviewKind.FAILURE)),
    "budget": ("Budget used up", Q(kind=lifecycle.ReviewKind.BUDGET)),
}
"""Value of the `only` parameter, words, and what it leaves."""
_ACTS = {
    lifecycle.ReviewKind.FAILURE: rights.Act.ANSWER_FAILURE,
    lifecycle.ReviewKind.BUDGET: rights.Act.RAISE_BUDGET,
}
"""Kinds of question that need a right of their own instead of a group."""
OTHERS = "others"
"""Value of the `only` parameter that leaves what somebody else has to answer."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many questions wait for somebody, in all and by filter, and how many for others only.

    `newest` is the highest id among all of them.
    """

    total: int
    others: int
    newest: int
    by_filter: dict[str, int]


def open_reviews() -> QuerySet[models.Review]:
    """Return every open question."""
    return models.Review.objects.filter(status=lifecycle.Review.OPEN)


def answers(viewer: deciding.Viewer) -> bool:
    """Return whether this person may answer anything; who may not sees everything, and only looks."""
    return any(
        viewer.may(act) for act in (rights.Act.DECIDE, rights.Act.ANSWER_FAILURE, rights.Act.RAISE_BUDGET)
    )


def _with_asked(viewer: deciding.Viewer) -> tuple[QuerySet[models.Review], Q]:
    """Return the open questions, and the condition under which one of them waits for this person."""
    rows = open_reviews().alias(asked=Cast("groups", TextField()))
    own = Q(pk__in=[])
    if not answers(viewer):
        return rows, Q(pk__isnull=False)
    if viewer.may(rights.Act.DECIDE):
        every = rights.ADMIN in viewer.roles
        named = [Q(asked__contains=f'"{role}"') for role in sorted(viewer.roles)]
        decide = ~Q(kind__in=list(_ACTS))
        own |= decide if every else decide & functools.reduce(operator.or_, named)
    for kind, act in _ACTS.items():
        if viewer.may(act):
            own |= Q(kind=kind)
    return rows, own


def waiting(viewer: deciding.Viewer, only: str = "") -> QuerySet[models.Review]:
    """Return what waits for this person, left by a filter: what the badge counts is what the inbox lists."""
    rows, own = _with_asked(viewer)
    rows = rows.filter(~own if only == OTHERS else own)
    return rows.filter(FILTERS[only][1]) if only in FILTERS else rows


def counts(viewer: deciding.Viewer) -> Counts:
    """Return the counts of the open questions, in one query."""
    rows, own = _with_asked(viewer)
    parts = {name: Count("pk", filter=own & condition) for name, (_, condition) in FILTERS.items()}
    found = rows.aggregate(
        total=Count("pk", filter=own), others=Count("pk", filter=~own), newest=Max("pk"), **parts
    )
    return Counts(
        total=found["total"],
        others=found["others"],
        newest=found["newest"] or 0,
        by_filter={name: found[name] for name in FILTERS},
    )


def next_for(viewer: deciding.Viewer, *, after: models.Review) -> int | None:
    """Return the next open question that this person can answer: the ones due later first, then from the top."""
    rows = list(
        waiting(viewer)
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
