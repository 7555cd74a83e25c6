"""What the clock does once for each effect: it is made findable, and read back where its tool can. Off its path.

It is harmless when it is done twice.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from django.db.models import Max
from django.utils import timezone

from runs import lifecycle, models
from runs.models import wire
from runs.tools import registry
from runs.transitions import indexing, verifications
from runs.transitions.committing import committing
from runs.transitions.steps import occurrences

BATCH = 100
BEHIND = 1_000
"""An effect's number may be committed after later ones; so many numbers back are looked at again."""
JUST_DONE = datetime.timedelta(hours=1)
"""What was done longer ago is read back only when somebody asks for it."""
KNOWN = (lifecycle.Occurrence.STANDING, lifecycle.Occurrence.VOID, lifecycle.Occurrence.UNDONE)


def index(*, limit: int = BATCH) -> int:
    """Return how many effects were made findable: those that have begun, and those whose outcome is known by now."""
    newest = models.Words.objects.aggregate(top=Max("effect"))["top"] or 0
    effects = models.Occurrence.objects.select_related("owner")
    begun = effects.filter(pk__gt=newest - BEHIND, words__isnull=True, root__sealed_at__isnull=True)
    settled = effects.filter(words__open=True, state__in=KNOWN)
    rows = [*begun.order_by("pk")[:limit], *settled.order_by("pk")[:limit]]
    if rows:
        with committing("index"):  # one for all: it locks nothing that the runs' own commits wait for
            _index(rows)
    return len(rows)


def again(*, after: int, limit: int = BATCH) -> int | None:
    """Make the runs behind number `after`, and their questions, findable anew; return the last one's number, or None.

    For what began or was asked before its words were kept. Sealed lineages have none.
    """
    runs = models.Run.objects.filter(pk__gt=after, root__sealed_at__isnull=True).order_by("pk")
    last = None
    for run in runs.select_related("agent_version__agent")[:limit]:
        with committing("index"):
            indexing.run(run, run.agent_version.agent)
            for review in models.Review.objects.filter(run=run).select_related("action").order_by("pk"):
                action = review.action
                indexing.review(review, arguments=None if action is None else action.arguments())
        last = run.pk
    return last


def _index(rows: Sequence[models.Occurrence]) -> None:
    receipts = occurrences.receipts(row for row in rows if row.state != lifecycle.Occurrence.OPEN)
    wire.together(
        [
            indexing.effect(
                row, title=_title(row.tool), receipt=receipts.get(row.pk), known=row.state in KNOWN
            )
            for row in rows
        ]
    )
    recent = timezone.now() - JUST_DONE
    for row in rows:
        if row.settled_at is not None and row.settled_at > recent:
            verifications.begin(row)


def _title(tool: str) -> str:
    try:
        return registry.get(tool).title
    except registry.UnknownTool:
        return ""
