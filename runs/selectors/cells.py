"""What may stand in a cell of a CSV file, so that opening it computes nothing."""

from __future__ import annotations

_BEGINS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001  those that are as wide as CJK
"""A spreadsheet takes a cell that begins so for a formula."""


def safe(text: str) -> str:
    """Return a text that no spreadsheet computes: what looks like a formula gets a mark before it."""
    return f"'{text}" if text.lstrip(" ").startswith(_BEGINS) else text
