"""Which parts of two sequences are the same: the longest common subsequence, for an effort that is bounded. Pure."""

from __future__ import annotations

import bisect
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

MOST = 400_000
"""Pairs that one comparison looks at; a tenth of a second or so."""


@dataclass(kw_only=True)
class Effort:
    """How many pairs may still be looked at; shared by all parts of one page."""

    left: int = MOST
    short: bool = False  # something was too large, and is said to differ as a whole

    def take(self, pairs: int) -> bool:
        """Return whether so many may be looked at, and count them."""
        if pairs > self.left:
            self.short = True
            return False
        self.left -= pairs
        return True


@dataclass(frozen=True, kw_only=True)
class Block:
    """A stretch that is the same in both, or that the one has in place of the other's (either may be empty)."""

    same: bool
    before: range
    after: range


def blocks(before: Sequence[Any], after: Sequence[Any], effort: Effort | None = None) -> list[Block]:
    """Return the blocks of two sequences of hashable items, in order; together they cover both.

    What is too large for the effort that is left is one block that differs.
    """
    effort = effort or Effort()
    first = _common(zip(before, after, strict=False))
    rest = min(len(before), len(after)) - first
    last = min(rest, _common(zip(reversed(before), reversed(after), strict=False)))
    ends = (len(before) - last, len(after) - last)
    found = [(True, first, first), *_middle(before[first : ends[0]], after[first : ends[1]], effort)]
    return list(_joined([*found, (True, last, last)]))


def pairs(
    before: Sequence[Sequence[Any]], after: Sequence[Sequence[Any]], effort: Effort | None = None
) -> Iterator[tuple[int | None, int | None]]:
    """Yield which item stands beside which, each of both sequences once, in the order of the first as far as it goes.

    An item is a row of names, the first of which every item has (others may be None). Those that keep their order by
    the first name are found first, then what is elsewhere in the other one, by each name in turn.
    """
    beside: dict[int, int] = {}
    for block in blocks([names[0] for names in before], [names[0] for names in after], effort):
        if block.same:
            beside.update(zip(block.before, block.after, strict=True))
    for which in range(len(before[0]) if before else 0):
        taken, waiting = set(beside.values()), defaultdict[Any, list[int]](list)
        for j in range(len(after) - 1, -1, -1):
            if j not in taken and after[j][which] is not None:
                waiting[after[j][which]].append(j)
        for i, names in enumerate(before):
            if i not in beside and waiting.get(names[which]):
                beside[i] = waiting[names[which]].pop()
    known = set(beside.values())
    alone = [j for j in range(len(after)) if j not in known]
    for i in range(len(before)):
        while i in beside and alone and alone[0] < beside[i]:
            yield None, alone.pop(0)
        yield i, beside.get(i)
    yield from ((None, j) for j in alone)


def still(places: Sequence[int]) -> list[bool]:
    """Return which of the places, all different, keep their order: a longest growing row of them. The others moved."""
    ends: list[int] = []
    length: list[int] = []
    for place in places:
        at = bisect.bisect_left(ends, place)
        ends[at : at + 1] = [place]
        length.append(at + 1)
    kept, wanted, last = [False] * len(places), len(ends), None
    for at in range(len(places) - 1, -1, -1):
        if length[at] == wanted and (last is None or places[at] < last):
            kept[at], wanted, last = True, wanted - 1, places[at]
    return kept


def _common(pairs: Iterator[tuple[Any, Any]]) -> int:
    count = 0
    for one, other in pairs:
        if one != other:
            break
        count += 1
    return count


def _middle(before: Sequence[Any], after: Sequence[Any], effort: Effort) -> Iterator[tuple[bool, int, int]]:
    """Yield (same, items before, items after) of two sequences that neither begin nor end alike."""
    if not before or not after or not effort.take(len(before) * len(after)):
        yield False, len(before), len(after)
        return
    longest = _table(before, after)
    i = j = 0
    while i < len(before) and j < len(after):
        if before[i] == after[j]:
            yield True, 1, 1
            i, j = i + 1, j + 1
        elif longest[i + 1][j] >= longest[i][j + 1]:
            yield False, 1, 0
            i += 1
        else:
            yield False, 0, 1
            j += 1
    yield False, len(before) - i, len(after) - j


def _table(before: Sequence[Any], after: Sequence[Any]) -> list[list[int]]:
    """Return the length of the longest common subsequence of what follows each pair of places."""
    rows = [[0] * (len(after) + 1)]
    for item in reversed(before):
        below, row = rows[-1], [0] * (len(after) + 1)
        for j in range(len(after) - 1, -1, -1):
            row[j] = below[j + 1] + 1 if item == after[j] else max(below[j], row[j + 1])
        rows.append(row)
    rows.reverse()
    return rows


def _joined(parts: list[tuple[bool, int, int]]) -> Iterator[Block]:
    """Yield neighbours of one kind as one block; empty ones are left out."""
    i = j = 0
    kind, taken, given = True, 0, 0
    for same, removed, added in [*parts, (None, 0, 0)]:
        if same is not None and not (removed or added):
            continue
        if same is not kind:
            if taken or given:
                yield Block(same=kind, before=range(i, i + taken), after=range(j, j + given))
            i, j = i + taken, j + given
            kind, taken, given = bool(same), 0, 0
        taken, given = taken + removed, given + added
