"""Words to find things by: what is indexed of a text, and what a person typed as a query over it. Pure.

Both sides go through the same letters: compatibility forms and cases are folded here, so that the answer doesn't
depend on the server's locale. Nothing that is typed or indexed can be an operator of the query language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping

MOST_WORDS = 1000
MOST_SIGNS = 30_000
LONGEST = 64
"""A word is cut here; its beginning still finds it."""
MOST_TERMS = 12
_WORD = re.compile(r"[^\W_]+")
_TERM = re.compile(r'(-?)"([^"]*)"?|(\S+)')


def text(*values: object) -> str:
    """Return the words of these values, in their order, as one text; bounded, whatever the values hold."""
    left, found = MOST_SIGNS, []
    for part in _texts(values):
        found += words(part[:left])
        left -= len(part)
        if left <= 0 or len(found) >= MOST_WORDS:
            break
    return " ".join(found[:MOST_WORDS])


def words(part: str) -> list[str]:
    """Return the words of a text: letters and digits, folded."""
    folded = unicodedata.normalize("NFKC", part).casefold()
    return [word[:LONGEST] for word in _WORD.findall(folded)]


def query(typed: str) -> str:
    """Return the text query of what a person typed, or nothing where it has no word to find.

    Words are beginnings, each of them wanted; "several in quotes" stand so; -word must not be there; or between two
    stands for either.
    """
    alternatives: list[list[str]] = [[]]
    positive = False
    for found in list(_TERM.finditer(typed[:MOST_SIGNS]))[:MOST_TERMS]:
        minus, phrase, plain = found.groups()
        if plain is not None and plain.casefold() == "or":
            alternatives.append([])
            continue
        if plain is not None:
            minus, plain = ("-", plain[1:]) if plain.startswith("-") else ("", plain)
        wanted = words(phrase if plain is None else plain)
        if not wanted:
            continue
        beginning = "" if plain is None else ":*"
        term = " <-> ".join(f"'{word}'" for word in wanted) + beginning
        positive = positive or not minus
        alternatives[-1].append(f"!({term})" if minus else f"({term})")
    if not positive:  # without anything wanted the whole index would be the answer
        return ""
    return " | ".join(" & ".join(terms) for terms in alternatives if terms)


def number(typed: str) -> int | None:
    """Return the number of a run or question that somebody typed, or None; with a # it is nothing else."""
    digits = typed.strip().removeprefix("#")
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None


def _texts(values: Iterable[object]) -> Iterator[str]:
    """Return every text and number in these values, the names of fields aside."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _texts(value.values())
        elif isinstance(value, list | tuple):
            yield from _texts(value)
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield str(value)
