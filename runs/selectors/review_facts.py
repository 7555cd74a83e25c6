"""The facts beside a question: what came before it, what protects it, what makes it the same, the world when asked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import models
from runs.selectors import page_models, tools


def facts(review: models.Review, arguments: Mapping[str, Any]) -> tuple[page_models.Fact, ...]:
    """Return the facts beside the question: what came before it, what protects it, the world when asked."""
    action = review.action
    if action is None:
        return ()
    found = []
    asked = (review.content or {}).get("answers")
    if asked:
        text = tools.short(f"{asked['by']} asked: {asked['question']}", 300)
        found.append(page_models.Fact(label="Proposed in answer", value=text))
    if action.retry_of is not None:
        why = action.retry_of.error or "it was not done when the run failed"
        found.append(page_models.Fact(label="Tried before", value=tools.short(why, 300)))
    found.append(page_models.Fact(label="If it is cut off", value=tools.protection_words(action.protection)))
    identity = action.identity
    if isinstance(identity, Mapping) and identity:
        text = ", ".join(
            f"{tools.label(name).lower()} “{_as_given(name, value, arguments)}”"
            for name, value in identity.items()
        )
        found.append(page_models.Fact(label="In this work once per", value=tools.short(text, 300)))
    if isinstance(action.precondition, Mapping):
        found += [
            page_models.Fact(
                label=f"{tools.label(name)}, when asked", value=tools.short(tools.plain(value), 300)
            )
            for name, value in action.precondition.items()
        ]
    return tuple(found)


def _as_given(name: str, value: Any, arguments: Mapping[str, Any]) -> str:
    """Return a part of the identity as the arguments spell it, where only the letters' case differs."""
    shown, given = tools.plain(value), arguments.get(name)
    same = isinstance(given, str) and given.strip().casefold() == shown.casefold()
    return given.strip() if isinstance(given, str) and same else shown
