"""What an agent asks a person, and what it was answered."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs import exact, lifecycle, models


@dataclass(frozen=True, kw_only=True)
class Question:
    """The agent's words, whole and unchecked; `answer` is the canonical JSON text of what it was answered."""

    text: str
    schema: Mapping[str, Any]
    answer: str = ""


def asked(review: models.Review) -> Question | None:
    """Return the question; None where the review is of another kind."""
    if review.kind != lifecycle.ReviewKind.QUESTION:
        return None
    last = review.decisions.filter(verdict="answer").order_by("-pk").first()
    return Question(
        text=review.content["question"],
        schema=review.content["schema"],
        answer=exact.canonical(last.content["value"], limit=None) if last is not None else "",
    )
