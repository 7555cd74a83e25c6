"""Two versions of a plan side by side, in words."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from runs import plan_changes
from runs.selectors import plan_models

ORDER = (plan_changes.ADDED, plan_changes.REMOVED, plan_changes.MOVED, plan_changes.CHANGED)


def comparison(
    title: str, old: Sequence[plan_changes.Step], new: Sequence[plan_changes.Step]
) -> plan_models.Comparison:
    """Return what is different about `new`, step by step."""
    found = plan_changes.between(old, new)
    counts = Counter(kind for change in found for kind in change.kinds)
    summary = ", ".join(f"{counts[kind]} {kind}" for kind in ORDER if counts[kind])
    return plan_models.Comparison(
        title=title,
        summary=summary or "Nothing differs",
        changes=tuple(_changed(change) for change in found),
    )


def _changed(change: plan_changes.Change) -> plan_models.Changed:
    return plan_models.Changed(
        id=change.id,
        title=change.title,
        kinds=change.kinds,
        words=_words(change),
        lines=tuple(_line(one) for one in change.differences),
        up=change.up,
    )


def _words(change: plan_changes.Change) -> str:
    if change.now is None:
        return f"It was step {change.was}."
    if plan_changes.ADDED in change.kinds:
        return f"It is step {change.now}."
    if plan_changes.MOVED in change.kinds:
        return f"From place {change.was} to place {change.now}."
    return ""


def _line(one: Any) -> plan_models.Line:
    if one.place in plan_changes.GUARDS:
        word = "approval gate" if one.place == plan_changes.GATE else "lock"
        return plan_models.Line(
            place=word, before="there" if one.before else "", after="there" if one.after else ""
        )
    return plan_models.Line(
        place=one.place.replace("_", " "),
        before=plan_changes.text_of(one.before),
        after=plan_changes.text_of(one.after),
    )
