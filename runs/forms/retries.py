"""The button that tries a failed run again: which question it answers, as it was seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from runs.forms import decisions
from runs.transitions.answers import RETRY, Answer

AS_IT_IS = "Tried again as it is."


@dataclass(frozen=True, kw_only=True)
class Given:
    """The question, and the answer to it."""

    review_id: int
    answer: Answer


def read_retry(post: Mapping[str, str]) -> Given:
    """Return what was sent; a question that isn't named has a number that none has."""
    number = decisions.number
    return Given(
        review_id=max(number(post.get("review", "")), 0),
        answer=Answer(
            verdict=RETRY,
            revision=number(post.get("revision", "")),
            digest=post.get("digest", "")[:64],
            evidence_number=number(post.get("evidence", "")),
            token=post.get("token", "")[:64],
            reason=post.get("reason", "").strip() or AS_IT_IS,
        ),
    )
