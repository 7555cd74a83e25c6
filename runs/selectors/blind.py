"""What somebody may not read yet: who gave the first of two approvals, and why, while they may give the second."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from django.db.models import Exists, OuterRef

from runs import lifecycle, models, rights
from runs.selectors import deciding

WITHHELD = {"withheld": "Whoever may still decide this reads it once it is decided."}
APPROVED = "review.approve"
"""What the trail calls an approval."""
Line = TypeVar("Line", bound=models.AuditEvent)


def unread(viewer: deciding.Viewer) -> frozenset[int]:
    """Return the open questions with an approval that this person doesn't read: they may decide, and haven't yet."""
    if not viewer.may(rights.Act.DECIDE):
        return frozenset()
    own = models.Decision.objects.filter(
        review=OuterRef("pk"), revision=OuterRef("revision"), person=viewer.user
    )
    rows = models.Review.objects.filter(status=lifecycle.Review.OPEN, votes__gt=0).exclude(Exists(own))
    return frozenset(rows.values_list("pk", flat=True))


def subjects(unread: Iterable[int]) -> frozenset[str]:
    """Return how lines of the audit trail name these questions."""
    return frozenset(f"review {number}" for number in unread)


def hides(row: models.AuditEvent, unread: frozenset[int]) -> bool:
    """Return whether the line says what isn't read yet."""
    return row.act == APPROVED and row.subject in subjects(unread)


def veiled(rows: Iterable[Line], unread: frozenset[int]) -> list[Line]:
    """Return the lines; of those that aren't read yet only place, time and hash, so that the chain can be followed."""
    found = list(rows)
    for row in found:
        if unread and hides(row, unread):
            row.actor = row.on_behalf_of = row.ip = None
            row.channel, row.content = "", WITHHELD
    return found
