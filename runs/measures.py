"""What a budget limits, and how each measure is named to people. Pure."""

from __future__ import annotations

from enum import StrEnum


class Measure(StrEnum):
    """The keys of every budget."""

    STEPS = "steps"  # committed model replies; people read "turns"
    CALLS = "calls"  # tool calls, reads and effects
    TOKENS = "tokens"  # in and out together
    COST = "cost_micro"  # millionths of a US dollar
    SECONDS = "seconds"  # whole seconds at work; waiting for people costs nothing


NOUNS: dict[str, str] = {
    Measure.STEPS: "turns",
    Measure.CALLS: "tool calls",
    Measure.TOKENS: "tokens",
    Measure.COST: "dollars",
    Measure.SECONDS: "seconds at work",
}
_ONE: dict[str, str] = {
    Measure.STEPS: "turn",
    Measure.CALLS: "tool call",
    Measure.TOKENS: "token",
    Measure.SECONDS: "second at work",
}
WHOSE = {"lineage": "This run", "agent": "This agent today", "installation": "All runs today"}
"""Whose account it is, by its scope."""
_LIMITED = {
    "lineage": "of this run",
    "agent": "that this agent may use in a day",
    "installation": "that all runs together may use in a day",
}


def amount(measure: str, number: int) -> str:
    """Return an amount with its unit: "1 tool call", "$2.50"."""
    if measure == Measure.COST:
        return f"${number / 1_000_000:,.2f}"
    return f"{number:,} {_ONE[measure] if number == 1 else NOUNS[measure]}"


def used_up(scope: str, measure: str, limit: int) -> str:
    """Return the sentence that says that a limit is reached."""
    return f"The limit of {amount(measure, limit)} {_LIMITED[scope]} is reached."
