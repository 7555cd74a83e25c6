"""Texts at the door: what people type is checked, what machines say is made storable without loss of sight."""

from __future__ import annotations

import re

from runs import redaction
from runs.transitions.refusals import Invalid

MAX_TYPED = 10_000
MAX_TOKEN = 64
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


def typed(text: str, what: str) -> str:
    """Return what a person typed, without the space around it; refuse (Invalid) what no column can hold."""
    if _UNSTORABLE.search(text):
        raise Invalid(f"The {what} holds a character that can't be stored (NUL or half a character).")
    if len(text) > MAX_TYPED:
        raise Invalid(f"The {what} has {len(text):,} characters; the limit is {MAX_TYPED:,}.")
    return text.strip()


def says(text: str) -> bool:
    """Return whether a text says anything: it holds a letter or a digit, not only blanks and invisible characters."""
    return any(sign.isalnum() for sign in text)


def token(text: str) -> str:
    """Return a form's single-use token; refuse (Invalid) an empty one, one too long and one that can't be stored."""
    if not 1 <= len(text) <= MAX_TOKEN or _UNSTORABLE.search(text):
        raise Invalid("This form is not as it was drawn; load the page again.")
    return text


def storable(text: str, *, limit: int | None = None) -> str:
    """Return a text for a column: NUL and lone surrogates become visible escapes; cut at `limit` characters.

    Only for titles and messages. What is approved and what runs stays in exact JSON, which holds every character.
    """
    shown = _UNSTORABLE.sub(lambda found: f"\\u{ord(found.group()):04x}", redaction.clean(text))
    return shown if limit is None else shown[:limit]
