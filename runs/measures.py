"""What a budget limits, and how each measure is named to people. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any


class Measure(StrEnum):
    """The keys of every budget."""

    STEPS = "steps"  # committed model replies; people read "turns"
    CALLS = "calls"  # tool calls, reads and effects
    TOKENS = "tokens"  # in and out together
    COST = "cost_micro"  # millionths of a US dollar
    SECONDS = "seconds"  # whole seconds at work; waiting for people costs nothing


_TOOL = "calls:"
"""What stands before a tool's name where only its calls are limited: "calls:mail.send"."""
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


def of_tool(name: str) -> str:
    """Return the measure that counts the calls of one tool."""
    return f"{_TOOL}{name}"


def tool(measure: str) -> str:
    """Return the tool whose calls a measure counts, or an empty text for every other measure."""
    return measure.removeprefix(_TOOL) if measure.startswith(_TOOL) else ""


def place(measure: str) -> tuple[int, str]:
    """Return by what measures are sorted: the general ones in their order, then tool after tool."""
    return (0, measure) if tool(measure) else (list(Measure).index(Measure(measure)) - len(Measure), "")


def limits(budget: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """Return each measure that a budget limits, with its limit, in their order."""
    for name in sorted((name for name in budget if name in NOUNS or tool(name)), key=place):
        if budget[name] is not None:
            yield name, budget[name]


def noun(measure: str) -> str:
    """Return what is counted, in the plural: "turns", "calls of mail.send"."""
    return NOUNS.get(measure) or f"calls of {tool(measure)}"


def amount(measure: str, number: int) -> str:
    """Return an amount with its unit: "1 tool call", "3 calls of mail.send", "$2.50"."""
    if name := tool(measure):
        return f"{number:,} {'call' if number == 1 else 'calls'} of {name}"
    if measure == Measure.COST:
        return f"${number / 1_000_000:,.2f}"
    return f"{number:,} {_ONE[measure] if number == 1 else NOUNS[measure]}"


def used_up(scope: str, measure: str, limit: int) -> str:
    """Return the sentence that says that a limit is reached."""
    return f"The limit of {amount(measure, limit)} {_LIMITED[scope]} is reached."


def span(seconds: float) -> str:
    """Return a duration in the largest two units that matter."""
    whole = int(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 and seconds != whole else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s" if whole % 60 else f"{whole // 60} min"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
