"""Amounts of a budget as people type them: whole numbers, and dollars with cents."""

from __future__ import annotations

import decimal

from runs.measures import Measure

LARGEST = 10**15
_MICRO = 1_000_000


def read(text: str, *, measure: str) -> int | None:
    """Return the amount in the measure's own unit (money in millionths of a dollar), or None for what isn't one."""
    plain = text.replace("\u00a0", "").replace(" ", "")
    if measure == Measure.COST:
        plain = plain.removeprefix("$")
    if not plain.isascii() or not plain.replace(".", "", 1).isdigit() or len(plain) > 20:
        return None
    number = decimal.Decimal(plain) * (_MICRO if measure == Measure.COST else 1)
    if number != number.to_integral_value() or not 1 <= number <= LARGEST:
        return None
    return int(number)


def wanted(measure: str) -> str:
    """Return the sentence that says what has to be typed."""
    if measure == Measure.COST:
        return "Say by how many dollars the limit is raised, such as 2.50."
    return "Say by how much the limit is raised: a whole number of 1 or more, without commas."
