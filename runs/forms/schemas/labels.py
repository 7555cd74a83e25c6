"""The words beside a field: its label, its description with the limits that the schema sets, and its keyboard."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from runs.forms.schemas.fields import Kind, plain

FILE = "A file stays the one that was proposed."
LONG = 120
"""A text that is longer gets a field of several lines."""


def label(schema: Mapping[str, Any], name: str) -> str:
    """Return what the field is called."""
    title = schema.get("title")
    if isinstance(title, str) and title.strip() and not schema.get("properties"):
        return plain(title)
    return plain(name).replace("_", " ").strip().capitalize()


def hint(text: str, schema: Mapping[str, Any], how: Kind) -> str:
    """Return the description, and the limits that the schema sets."""
    limits: list[str] = []
    low, high = schema.get("minLength"), schema.get("maxLength")
    if how == Kind.NUMBER:
        limits += [f"{words} {schema[key]}" for key, words in _NUMBERS.items() if key in schema]
    if how == Kind.TEXT and high is not None:
        limits.append(f"at most {high} characters" if not low or low == 1 else f"{low} to {high} characters")
    if how == Kind.TEXT and schema.get("pattern") and schema.get("format") not in {"email", "uri"}:
        limits.append(f"of the form {schema['pattern']}")
    if how == Kind.TEXT and schema.get("format") in _FORMATS:
        limits.append(_FORMATS[schema["format"]])
    said = ", ".join(limits)
    said = f"{said[:1].upper()}{said[1:]}." if said else ""
    text = text.split("\n\n", maxsplit=1)[0]
    return text if text.endswith(said) else f"{text} {said}".strip()


_NUMBERS = {
    "minimum": "at least",
    "exclusiveMinimum": "more than",
    "maximum": "at most",
    "exclusiveMaximum": "less than",
    "multipleOf": "a multiple of",
}
_FORMATS = {"date-time": "such as 2026-11-30T16:00:00Z", "time": "such as 16:00:00Z", "uuid": "a UUID"}


def keyboard(schema: Mapping[str, Any]) -> str:
    """Return the keyboard that helps to type it."""
    return {"email": "email", "uri": "url"}.get(str(schema.get("format")), "text")


def long(schema: Mapping[str, Any]) -> bool:
    """Return whether long texts are expected."""
    most = schema.get("maxLength")
    return isinstance(most, int) and most > 300 and "format" not in schema


def is_date(text: str) -> bool:
    """Return whether a browser takes this text for a date."""
    try:
        return datetime.date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False
