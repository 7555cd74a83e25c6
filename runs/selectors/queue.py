"""The open questions: one query counts them for badge, tab, list and filters, and one order lists them."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import Count, Max, Q, QuerySet

from runs import lifecycle, models
from runs.selectors import deciding

ORDER = ("due_at", "id")
LOOK_AHEAD = 100

FILTERS: dict[str, tuple[str, Q]] = {
    "final": ("Final", Q(kind=lifecycle.ReviewKind.ACTION, tier=3)),
    "out": ("Goes out", Q(kind=lifecycle.ReviewKind.ACTION, tier=2)),
    "doubt": ("Did it happen?", Q(kind=lifecycle.ReviewKind.IN_DOUBT)),
    "failed": ("Failed runs", Q(kind=lifecycle.ReviewKind.FAILURE)),
}
"""Value of the `only` parameter, words, and what it leaves."""


@dataclass(frozen=True, kw_only=True)
class Counts:
    """How many questions are open, in all and by filter; `newest` is the highest id among them."""

    total: int
    newest: int
    by_filter: dict[str, int]


def open_reviews() -> QuerySet[models.Review]:
    """Return the open questions: what the badge counts is what the inbox lists."""
    return models.Review.objects.filter(status=lifecycle.Review.OPEN)


def counts() -> Counts:
    """Return the counts of the open questions, in one query."""
    parts = {name: Count("pk", filter=condition) for name, (_, condition) in FILTERS.items()}
    found = open_reviews().aggregate(total=Count("pk"), newest=Max("pk"), **parts)
    return Counts(
        total=found["total"],
        newest=found["newest"] or 0,
        by_filter={name: found[name] for name in FILTERS},
    )


def next_for(viewer: deciding.Viewer, *, after: models.Review) -> int | None:
    """Return the next open question that this person can answer: the ones due later first, then from the top."""
    rows = list(
        open_reviews()
        .exclude(pk=after.pk)
        .select_related("run")
        .only("due_at", "kind", "groups", "separation", "status", "run__created_by")
        .order_by(*ORDER)[:LOOK_AHEAD]
    )
    others = deciding.held_by_others(viewer.user) if any(row.separation for row in rows) else frozenset()
    mine = [
        row
        for row in rows
        if not deciding.blocked(row, viewer)
        and not deciding.approval_blocked(row, viewer, started_by=row.run.created_by_id, others=others)
    ]
    later = [row for row in mine if (row.due_at, row.pk) > (after.due_at, after.pk)]
    return (later or mine)[0].pk if mine else None
