"""Edits on the review page: whether the arguments can be changed, and what was changed so far."""

from __future__ import annotations

import itertools
from typing import Any

from runs import differences, exact, lifecycle, models, wording
from runs.selectors import check_models, tools

LONG = 100
"""From this length on two texts are compared word by word."""


def being_prepared(review: models.Review, action: models.Action | None) -> bool:
    """Return whether its preview is being worked out anew after an edit; until then nobody can decide."""
    return (
        review.kind == lifecycle.ReviewKind.ACTION
        and action is not None
        and review.status == lifecycle.Review.OPEN
        and review.digest != action.approval_digest
    )


def editable(review: models.Review, action: models.Action | None) -> bool:
    """Return whether there is anything to change: not in an undo, nor in what was sent before."""
    kind = review.kind == lifecycle.ReviewKind.ACTION
    return kind and action is not None and action.undo_of_id is None and not action.attempt


def changes(action: models.Action | None) -> tuple[check_models.Change, ...]:
    """Return what people changed, oldest first."""
    if action is None or action.revision == 1:
        return ()
    rows = models.Revision.objects.filter(action=action).select_related("author").order_by("number")
    return tuple(_change(before, after) for before, after in itertools.pairwise(rows))


def names(found: tuple[check_models.Change, ...]) -> tuple[str, ...]:
    """Return the top-level arguments that were changed."""
    return tuple(dict.fromkeys(row.name for change in found for row in change.rows))


def _change(before: models.Revision, after: models.Revision) -> check_models.Change:
    return check_models.Change(
        by=after.author.display() if after.author else "Somebody",
        at=after.created_at,
        reason=after.reason,
        rows=tuple(changed(row) for row in differences.between(before.arguments, after.arguments)),
    )


def changed(row: differences.Difference) -> check_models.Changed:
    """Return a difference of two values as pages show it: short ones in a line, long texts word by word."""
    before, after = _value(row.before), _value(row.after)
    texts = isinstance(before, str) and isinstance(after, str)
    return check_models.Changed(
        name=row.place.split(".")[0],
        label=row.place,
        before=_shown(row.before),
        after=_shown(row.after),
        words=wording.rows(before, after) if texts and max(len(before), len(after)) > LONG else (),
    )


def _value(text: str | None) -> Any:
    return None if text is None else exact.stored(text)


def _shown(value: str | None) -> str:
    if value is None:
        return "nothing"
    found: Any = exact.stored(value)
    return tools.short(found if isinstance(found, str) else value, 300)
