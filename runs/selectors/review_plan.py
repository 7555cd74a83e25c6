"""The plan that a question is about: its steps in order, with what each would do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import exact, lifecycle, models
from runs.models import paths
from runs.selectors import review_models, tools

SHOWN = 300


def lines(review: models.Review) -> tuple[review_models.PlanLine, ...]:
    """Return the steps of the version that the review asks about; of a long one the first."""
    if review.kind != lifecycle.ReviewKind.PLAN:
        return ()
    plan = paths.plan(review.run, review.revision)
    return (
        ()
        if plan is None
        else tuple(_line(number, step) for number, step in enumerate(plan.steps[:SHOWN], start=1))
    )


def _line(number: int, step: Mapping[str, Any]) -> review_models.PlanLine:
    body = step["body"]
    tool, arguments = body.get("tool"), body.get("with")
    bound = tools.find(str(tool)) if tool else None
    return review_models.PlanLine(
        number=number,
        title=str(step["title"]),
        tool=tools.title(str(tool)) if tool else "",
        each=str(body.get("each") or ""),
        condition=str(body.get("if") or ""),
        tier=bound.risk() if bound else None,
        gate=bool(body.get("gate")),
        arguments=exact.canonical(arguments, limit=None) if isinstance(arguments, Mapping) else "",
    )
