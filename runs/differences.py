"""What differs between two JSON values, place by place: pure, and exact to the byte of the canonical text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runs import exact


@dataclass(frozen=True, kw_only=True)
class Difference:
    """One place where two values differ, with both canonical texts; None where it isn't there at all."""

    place: str
    before: str | None
    after: str | None


def between(before: Any, after: Any) -> tuple[Difference, ...]:
    """Return the places that differ, by name; lists are compared as a whole."""
    return tuple(_between("", before, after))


def _between(place: str, before: Any, after: Any) -> Iterator[Difference]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted(before.keys() | after.keys()):
            where = f"{place}.{name}" if place else str(name)
            if name not in after:
                yield Difference(place=where, before=_text(before[name]), after=None)
            elif name not in before:
                yield Difference(place=where, before=None, after=_text(after[name]))
            else:
                yield from _between(where, before[name], after[name])
    elif _text(before) != _text(after):
        yield Difference(place=place, before=_text(before), after=_text(after))


def _text(value: Any) -> str:
    return exact.canonical(value, limit=None)
