"""What may stand in a cell of a CSV file, so that opening it computes nothing and nothing in it hides."""

from __future__ import annotations

from runs import visible

_BEGINS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001  those that are as wide as CJK
"""A spreadsheet takes a cell that begins so for a formula."""


_HIDES = frozenset(
    {
        visible.Kind.BIDI,
        visible.Kind.INVISIBLE,
        visible.Kind.CONTROL,
        visible.Kind.BROKEN,
        visible.Kind.UNKNOWN,
    }
)


def safe(text: str) -> str:
    """Return a text that no spreadsheet computes: what looks like a formula gets a mark before it.

    What can't be seen, turns the reading direction or steers a terminal is named, as on the pages.
    """
    if not (text.isascii() and text.isprintable()):
        parts = visible.segments(text)
        text = "".join(f"[{part.mark}]" if part.kind in _HIDES else part.source for part in parts)
    return f"'{text}" if text.lstrip(" ").startswith(_BEGINS) else text
