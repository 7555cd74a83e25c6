"""What was read back of effects, in words."""

from __future__ import annotations

import datetime
from collections.abc import Collection
from dataclasses import dataclass

from runs import models

Outcome = models.Verification.Outcome
WORDS: dict[str, tuple[str, str, str]] = {
    "": ("Being read back", "hourglass", "quiet"),
    Outcome.HOLDS: ("Read back: it is there", "circle-check", "good"),
    Outcome.DIFFERS: ("Read back: it differs", "triangle-alert", "bad"),
    Outcome.UNREADABLE: ("Could not be read back", "circle-question-mark", "quiet"),
}
"""Words, icon and tone, by outcome."""


@dataclass(frozen=True, kw_only=True)
class ReadBack:
    """The newest look at one effect."""

    outcome: str
    words: str
    icon: str
    tone: str
    said: str
    at: datetime.datetime
    by: str  # who asked for it; empty where it followed the receipt


def newest(occurrences: Collection[int]) -> dict[int, ReadBack]:
    """Return the newest look at each of these effects that was looked at, in one query."""
    rows = models.Verification.objects.filter(occurrence__in=occurrences).select_related("by").order_by("pk")
    found = {}
    for row in rows:
        words, icon, tone = WORDS[row.outcome]
        found[row.occurrence_id] = ReadBack(
            outcome=row.outcome,
            words=words,
            icon=icon,
            tone=tone,
            said=row.said,
            at=row.done_at or row.asked_at,
            by=row.by.display() if row.by else "",
        )
    return found
