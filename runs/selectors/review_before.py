"""What a question's action may be once more: done with other arguments, in other words, or asked twice in its run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import differences, lifecycle, models
from runs.selectors import ledger, review_edits, review_models, tools

_SHOWN = 12
_DONE = (lifecycle.Action.SUCCEEDED, lifecycle.Action.ABSORBED)
_GOING_ON = lifecycle.ACTION_OPEN


def before(review: models.Review, arguments: Mapping[str, Any]) -> tuple[review_models.Beside, ...]:
    """Return what was done before, or is proposed beside this, with what would be otherwise now."""
    content = review.content or {}
    items = [(item, name == "beside") for name in ("beside", "alike") for item in content.get(name) or ()]
    if not items:
        return _in_this_run(review, arguments)
    numbers = [item["occurrence"] for item, _ in items]
    settled = dict(models.Occurrence.objects.filter(pk__in=numbers).values_list("pk", "settled_at"))
    undoable = review.action is not None and tools.undoes(review.action.tool)
    return tuple(
        review_models.Beside(
            occurrence=item["occurrence"],
            heading=_heading(same=same, differs=item["arguments"] != arguments),
            what=item["receipt"] or item["title"],
            run_id=item["run"],
            at=settled.get(item["occurrence"]),
            rows=_rows(item["arguments"], arguments),
            same=same,
            undoable=undoable,
        )
        for item, same in items
    )


def _heading(*, same: bool, differs: bool) -> str:
    if not same:
        return "An earlier attempt did something that may be just this"
    return "The same was done before, with other arguments" if differs else "The same was done before"


def marked(review: models.Review) -> bool:
    """Return whether a line of the inbox says that this was done before, or is asked twice; it reads nothing more."""
    content = review.content or {}
    twice = review.kind == lifecycle.ReviewKind.ACTION and review.action is not None
    return bool(content.get("beside") or content.get("alike")) or (
        twice and review.action is not None and review.action.duplicate_of_id is not None
    )


def _in_this_run(review: models.Review, arguments: Mapping[str, Any]) -> tuple[review_models.Beside, ...]:
    """Return the call on the same path with the same identity; one that was refused or failed is no reason to stop."""
    action = review.action
    if action is None or action.duplicate_of_id is None or review.kind != lifecycle.ReviewKind.ACTION:
        return ()
    twin = models.Action.objects.select_related("occurrence__owner").get(pk=action.duplicate_of_id)
    if twin.status not in {*_DONE, *_GOING_ON}:
        return ()
    done = twin.status in _DONE
    shown = ledger.result_text(twin) if done else ""
    return (
        review_models.Beside(
            occurrence=None,
            heading="The same is done already in this run" if done else "The same is asked twice in this run",
            what=shown or str((twin.preview or {}).get("summary") or tools.title(twin.tool)),
            run_id=twin.run_id,
            at=twin.closed_at,
            rows=_rows(twin.arguments(), arguments),
            same=True,
        ),
    )


def _rows(done: Any, arguments: Mapping[str, Any]) -> tuple[Any, ...]:
    found = differences.between(done, dict(arguments))
    return tuple(review_edits.changed(row) for row in found[:_SHOWN])
