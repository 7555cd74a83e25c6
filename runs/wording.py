"""What differs between two texts, line by line and in the lines word by word, for an effort that is bounded. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest

from runs import alignment

SAME, CHANGED, REMOVED, ADDED, GAP = "same", "changed", "removed", "added", "gap"

_WORD = re.compile(r"\n|[^\S\n]+|\w+|[^\w\s]")
AROUND = 2
"""Lines that stay on each side of a difference; more equal ones in a row are folded."""


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A part of a line, and whether the other text has it not."""

    text: str
    differs: bool


Line = tuple[Piece, ...]


@dataclass(frozen=True, kw_only=True)
class Row:
    """A line of the one text beside its line of the other; None where there is none. `count`: lines of a gap."""

    kind: str
    before: Line | None = None
    after: Line | None = None
    before_number: int | None = None
    after_number: int | None = None
    count: int = 0


def rows(before: str, after: str, *, effort: alignment.Effort | None = None) -> tuple[Row, ...]:
    """Return the two texts side by side, equal lines away from the differences folded.

    What is too large for the `effort` that is left differs as a whole.
    """
    effort = effort or alignment.Effort()
    old, new = before.split("\n"), after.split("\n")
    found = alignment.blocks(old, new, effort)
    result: list[Row] = []
    for index, block in enumerate(found):
        if block.same:
            lines = [_same(old[i], i, j) for i, j in zip(block.before, block.after, strict=True)]
            result += _folded(lines, first=index == 0, last=index == len(found) - 1)
        else:
            result += _changed(block, old, new, effort)
    return tuple(result)


def _same(text: str, i: int, j: int) -> Row:
    line = (Piece(text=text, differs=False),) if text else ()
    return Row(kind=SAME, before=line, after=line, before_number=i + 1, after_number=j + 1)


def _folded(lines: Sequence[Row], *, first: bool, last: bool) -> Iterator[Row]:
    head, tail = (0 if first else AROUND), (0 if last else AROUND)
    if len(lines) <= head + tail + 1:
        yield from lines
        return
    yield from lines[:head]
    yield Row(kind=GAP, count=len(lines) - head - tail)
    yield from lines[len(lines) - tail :]


def _changed(
    block: alignment.Block, old: Sequence[str], new: Sequence[str], effort: alignment.Effort
) -> Iterator[Row]:
    before, after = [old[i] for i in block.before], [new[j] for j in block.after]
    left, right = _words(before, after, effort)
    for offset, (one, other) in enumerate(zip_longest(left, right)):
        yield Row(
            kind=REMOVED if other is None else ADDED if one is None else CHANGED,
            before=one,
            after=other,
            before_number=None if one is None else block.before.start + offset + 1,
            after_number=None if other is None else block.after.start + offset + 1,
        )


def _words(
    before: Sequence[str], after: Sequence[str], effort: alignment.Effort
) -> tuple[list[Line], list[Line]]:
    """Return the lines of both in pieces; words are looked for across line ends."""
    if not before or not after:
        return [_whole(line) for line in before], [_whole(line) for line in after]
    old, new = _WORD.findall("\n".join(before)), _WORD.findall("\n".join(after))
    known_old, known_new = set[int](), set[int]()
    for block in alignment.blocks(old, new, effort):
        if block.same:
            known_old.update(block.before)
            known_new.update(block.after)
    return _lines(old, known_old), _lines(new, known_new)


def _whole(text: str) -> Line:
    return (Piece(text=text, differs=True),) if text else ()


def _lines(words: Sequence[str], known: set[int]) -> list[Line]:
    lines: list[list[tuple[bool, list[str]]]] = [[]]
    for index, word in enumerate(words):
        if word == "\n":
            lines.append([])
            continue
        line, differs = lines[-1], index not in known
        if line and line[-1][0] == differs:
            line[-1][1].append(word)
        else:
            line.append((differs, [word]))
    return [tuple(Piece(text="".join(parts), differs=differs) for differs, parts in line) for line in lines]
