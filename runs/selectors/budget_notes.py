"""What the log's notes about budgets say, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import lifecycle, measures

_RAISED = ("Raised the limit", "shield-check", "good")
_CODES = {
    "budget": ("Asked for a higher limit", "hourglass", "ask"),
    "settled": ("Counted towards common limits", "activity", "quiet"),
    "lost_call": ("Counted a call whose answer was lost, as estimated", "activity", "quiet"),
    "unusable_reply": ("Counted an answer that could not be used", "activity", "quiet"),
    "late_usage": ("Counted what a lost call really used", "activity", "quiet"),
}


def words(content: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """Return title, icon and tone of a note about budgets, or None for any other."""
    if content.get("kind") == lifecycle.ReviewKind.BUDGET and content.get("answer") == "raise":
        return _RAISED
    return _CODES.get(str(content.get("code")))


def usage(content: Mapping[str, Any]) -> str:
    """Return what a note says of tokens and money, or an empty text."""
    found = content.get("usage")
    if not isinstance(found, Mapping):
        return ""
    tokens = measures.amount(measures.Measure.TOKENS, found["tokens_in"] + found["tokens_out"])
    cost = found.get("cost_micro")
    return f"{tokens}, {'price unknown' if cost is None else measures.amount(measures.Measure.COST, cost)}."
