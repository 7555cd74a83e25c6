"""Finding words in a run's log: which lines have all of them, and where in a line they stand."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q, QuerySet, TextField
from django.db.models.functions import Cast, Collate, Left, Upper

from runs import models

MOST_WORDS = 5
LONGEST = 100
LOOKED_AT = 200_000
"""Characters of one line that are looked at; a huge line is found by its beginning."""
EXCERPTS = 3
AROUND = 60


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of an excerpt, and whether it is one of the words."""

    text: str
    found: bool


Excerpt = tuple[Piece, ...]


def words(text: str) -> tuple[str, ...]:
    """Return the words to look for: what stands in quotation marks stays together."""
    found = re.findall(r'"([^"]+)"|(\S+)', text.replace("\x00", "")[: MOST_WORDS * LONGEST])
    return tuple(dict.fromkeys((quoted or plain)[:LONGEST] for quoted, plain in found))[:MOST_WORDS]


def matching(rows: QuerySet[models.Entry], wanted: Sequence[str]) -> QuerySet[models.Entry]:
    """Return the lines that have all the words, capital or small."""
    return rows.alias(searched=stored("content")).filter(has("searched", wanted))


def stored(name: str) -> Upper:
    """Return a field of stored JSON as it is searched: ASCII, so that its capital letters need no dictionary."""
    return Upper(Collate(Left(Cast(name, TextField()), LOOKED_AT), "C"))


def has(name: str, wanted: Sequence[str]) -> Q:
    """Return the condition that a field that is searched has all the words; letters outside ASCII are written out."""
    found = Q()
    for word in wanted:
        either = Q()
        for form in _forms(word):
            either |= Q(**{f"{name}__contains": json.dumps(form)[1:-1].upper()})
        found &= either
    return found


def _forms(word: str) -> set[str]:
    """Return how the word may be written; ASCII letters are compared as capitals anyway."""
    return {word} if word.isascii() else {word, word.lower(), word.upper(), word.capitalize()}


def excerpts(content: Mapping[str, Any], wanted: Sequence[str]) -> tuple[Excerpt, ...]:
    """Return the first places of a line where words stand, with some text around them."""
    pattern = re.compile("|".join(re.escape(word) for word in wanted), re.IGNORECASE)
    found: dict[Excerpt, None] = {}  # a text that stands there twice is shown once
    for text in _texts(content):
        match = pattern.search(text)
        if match is None:
            continue
        found[tuple(_pieces(text, match.start(), pattern))] = None
        if len(found) == EXCERPTS:
            break
    return tuple(found)


def _pieces(text: str, at: int, pattern: re.Pattern[str]) -> Iterator[Piece]:
    start, end = max(0, at - AROUND), min(len(text), at + 2 * AROUND)
    shown = text[start:end]
    if start:
        yield Piece(text="…", found=False)
    last = 0
    for match in pattern.finditer(shown):
        if match.start() > last:
            yield Piece(text=shown[last : match.start()], found=False)
        yield Piece(text=match[0], found=True)
        last = match.end()
    if last < len(shown):
        yield Piece(text=shown[last:], found=False)
    if end < len(text):
        yield Piece(text="…", found=False)


def _texts(value: Any) -> Iterator[str]:
    """Yield the texts of a value, with the names that stand in it."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield str(name)
            yield from _texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
    elif value is not None:
        yield json.dumps(value)
