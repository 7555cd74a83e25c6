"""What people changed in an action before it was decided, in words for the agent."""

from __future__ import annotations

import itertools
from typing import Any

from runs import differences, models

LONGEST = 500
"""Longer values are cut in the words; the revisions hold them whole."""


def told(action: models.Action) -> str:
    """Return who changed what, from what to what and why, oldest first; nothing where nobody did."""
    if action.revision == 1:
        return ""
    rows = list(models.Revision.objects.filter(action=action).select_related("author").order_by("number"))
    return " ".join(_told(before, after) for before, after in itertools.pairwise(rows))


def _told(before: models.Revision, after: models.Revision) -> str:
    who = after.author.get_username() if after.author is not None else "Somebody"
    why = f" Reason: {after.reason}" if after.reason else ""
    return f"{who} changed the arguments: {between(before.arguments, after.arguments)}.{why}"


def between(before: Any, after: Any) -> str:
    """Return one phrase for each value that differs."""
    return "; ".join(_phrase(found) for found in differences.between(before, after))


def _phrase(found: differences.Difference) -> str:
    place = found.place or "everything"
    if found.after is None:
        return f"{place} was taken away"
    if found.before is None:
        return f"{place} was added as {_short(found.after)}"
    return f"{place} from {_short(found.before)} to {_short(found.after)}"


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}… ({len(text):,} characters)"
