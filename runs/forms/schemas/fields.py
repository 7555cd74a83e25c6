"""One field of a form, as data: what a template draws and what a value is made of."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from runs import exact

Path = tuple[str | int, ...]


class Missing:
    """Stands for a value that isn't there at all."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = Missing()


class Kind(StrEnum):
    """How a field is drawn."""

    TEXT = "text"  # one line
    LINES = "lines"  # a text with line breaks, or a long one
    NUMBER = "number"
    DATE = "date"
    TICK = "tick"  # yes or no
    CHOICE = "choice"  # one of the schema's values
    FIXED = "fixed"  # the schema's only value, or one that nobody may change
    GROUP = "group"  # an object's fields
    ROWS = "rows"  # a list
    JSON = "json"  # exact JSON, typed
    NOTHING = "nothing"  # null
    OUT = "out"  # not there at all


class As:
    """Ways to give a value that are no alternative of the schema; those are numbered."""

    OUT, NULL, JSON = "out", "null", "json"


@dataclass(frozen=True, kw_only=True)
class Option:
    """One choice: what is sent, and its words."""

    value: str
    label: str


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field. `name` is that of its control and the start of its parts' names; `path` is its place in the value."""

    name: str
    path: Path
    label: str
    kind: Kind
    schema: Mapping[str, Any]
    hint: str = ""
    text: str = ""
    options: tuple[Option, ...] = ()
    shape: str = "0"
    shapes: tuple[Option, ...] = ()
    parts: tuple[Field, ...] = ()
    fixed: Any = MISSING
    input: str = "text"  # the keyboard that helps: text, email, url, numeric, decimal
    needed: bool = False
    empty: str = ""  # what an empty control means: As.OUT, As.NULL, or its own empty value
    rest: bool = False  # the entries of an object that the schema doesn't name
    growing: bool = False  # rows can be added
    token: str = ""  # of a row, within its list
    before: Any = MISSING  # its value before anybody changed it
    fresh: bool = False  # given in another way than was drawn, so nobody has seen it yet
    error: str = ""
    edited: bool = False

    @property
    def mixed(self) -> bool:
        """Return whether there are several ways to give it."""
        return len(self.shapes) > 1

    @property
    def folds(self) -> bool:
        """Return whether the choice of the way shows and hides one control, without a new page."""
        others = [option for option in self.shapes if option.value not in {As.OUT, As.NULL}]
        return self.mixed and len(others) == 1 and self.kind not in {Kind.GROUP, Kind.ROWS}

    @property
    def original(self) -> str | None:
        """Return its value before anybody changed it, for people; None where it wasn't there."""
        return None if isinstance(self.before, Missing) else said(self.before)

    @property
    def fixed_text(self) -> str:
        """Return the value that nobody changes here, for people; a file is its name."""
        if isinstance(self.fixed, dict) and set(self.fixed) == {"path", "sha256"}:
            return str(self.fixed["path"])
        return "Left out" if isinstance(self.fixed, Missing) else said(self.fixed)

    def every(self) -> Iterator[Field]:
        """Return this field and all below it that stand for a part of the value."""
        yield self
        for part in () if self.kind in {Kind.OUT, Kind.NOTHING} else self.parts:
            yield from part.every()


def shown(value: Any) -> str:
    """Return a value laid out for typing in it; what can't be seen is written out."""
    return plain(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def plain(text: str) -> str:
    """Return the text with what can't be seen written out, as in JSON; line breaks stay."""
    return "".join(sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text)


def said(value: Any) -> str:
    """Return a value for people: a text as it is, the rest as JSON; cut where it is long."""
    text = value if isinstance(value, str) else exact.canonical(value, limit=None)
    return text if len(text) <= 300 else f"{text[:299]}…"


def same(one: Any, other: Any) -> bool:
    """Return whether two values have the same canonical text."""
    if isinstance(one, Missing) or isinstance(other, Missing):
        return one is other
    return exact.canonical(one, limit=None) == exact.canonical(other, limit=None)


def carried(text: str) -> bool:
    """Return whether a browser sends this text back as it is: no control characters, no half of a surrogate pair."""
    return not any(
        (ord(sign) < 0x20 and sign not in "\n\t")
        or 0x7F <= ord(sign) < 0xA0
        or 0xD800 <= ord(sign) < 0xE000
        or sign in "\u2028\u2029\ufffe\uffff"
        for sign in text
    )
