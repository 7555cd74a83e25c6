"""What was released before that is like the question: the first time for its target, and the last one of its shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import differences, lifecycle, models
from runs.models import scopes
from runs.selectors import check_models, deciding, review_edits, tools

_SHOWN = 12
_SENTENCES = {
    "summary": "What happens",
    "target": "Where",
    "money": "Money",
    "audience": "Reaches",
    "body": "Text",
}


def first_time(review: models.Review) -> tuple[str, ...]:
    """Return a sentence where nothing that people released has reached this target before, else nothing."""
    action = review.action
    if action is None or review.target is None or review.kind != lifecycle.ReviewKind.ACTION:
        return ()
    earlier = models.Review.objects.filter(
        target=review.target,
        status=lifecycle.Review.APPROVED,
        pk__lt=review.pk,
        action__status=lifecycle.Action.SUCCEEDED,
    )
    if earlier.exclude(action=action).exists():
        return ()
    target = (action.preview or {}).get("target")
    return (
        f"First time: nothing released here with “{tools.title(action.tool)}” has reached {target} before.",
    )


def elsewhere(review: models.Review, viewer: deciding.Viewer) -> check_models.Elsewhere | None:
    """Return the last time that the same effect was released and done in another piece of work, or None (1.16)."""
    if review.same is None or review.kind != lifecycle.ReviewKind.ACTION:
        return None
    done = models.Review.objects.filter(
        scopes.seen(viewer.user, "run__agent_version__agent"),
        same=review.same,
        status=lifecycle.Review.APPROVED,
        pk__lt=review.pk,
        action__status=lifecycle.Action.SUCCEEDED,
    ).exclude(run__root=review.run.root_id)
    last = done.select_related("run").order_by("-pk").first()
    if last is None:
        return None
    return check_models.Elsewhere(
        review_id=last.pk, run_id=last.run_id, run_title=last.run.title, at=last.closed_at or last.opened_at
    )


def similar(
    review: models.Review, viewer: deciding.Viewer, arguments: Mapping[str, Any]
) -> check_models.Similar | None:
    """Return the last approved question of the same tool with the same argument paths, and what is different."""
    if review.shape is None or review.kind != lifecycle.ReviewKind.ACTION:
        return None
    rows = models.Review.objects.filter(
        scopes.seen(viewer.user, "run__agent_version__agent"),
        shape=review.shape,
        status=lifecycle.Review.APPROVED,
        pk__lt=review.pk,
        consumed_by__isnull=False,
    )
    if review.closed_at is not None:  # what was approved later was no example
        rows = rows.filter(closed_at__lt=review.closed_at)
    last = rows.exclude(action=review.action_id).select_related("action", "run").order_by("-pk").first()
    if last is None or last.action is None:
        return None
    found = differences.between(last.action.arguments(), dict(arguments))
    return check_models.Similar(
        review_id=last.pk,
        run_title=last.run.title,
        at=last.closed_at or last.opened_at,
        rows=tuple(review_edits.changed(row) for row in found[:_SHOWN]),
        more=max(0, len(found) - _SHOWN),
        same=sum(name not in {row.place.split(".")[0] for row in found} for name in arguments),
    )


def since(review: models.Review) -> check_models.Since | None:
    """Return what is otherwise than when people were last asked about this call: the world, and what will happen."""
    before, action = (review.content or {}).get("before"), review.action
    if before is None or action is None:
        return None
    world = differences.between(before["precondition"] or {}, action.precondition or {})
    shown = differences.between(flat(before["preview"]), flat(action.preview))
    return check_models.Since(
        world=tuple(review_edits.changed(row) for row in world),
        shown=tuple(review_edits.changed(row) for row in shown),
    )


def flat(preview: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return a preview as labels and texts."""
    shown = preview or {}
    found = {label: shown[name] for name, label in _SENTENCES.items() if shown.get(name)}
    return {**{str(label): value for label, value in shown.get("facts") or ()}, **found}
