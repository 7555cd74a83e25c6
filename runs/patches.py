"""What is different between two JSON values, path by path, and as a patch that makes one of the other (RFC 6902). Pure.

Exact to the byte of the canonical text: 1, 1.0 and true are three values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs import alignment, exact

ADD, REMOVE, REPLACE, MOVE = "add", "remove", "replace", "move"

Path = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One place that differs. Its path is the place once all changes before it in the list are made."""

    op: str
    path: Path
    before: Any = None
    after: Any = None
    source: Path = ()  # of a move: where it stood, once all changes before it are made
    places: tuple[int, int] = (0, 0)  # of a move: its places in the two lists as they are, from 1

    @property
    def pointer(self) -> str:
        """Return the path as a JSON Pointer (RFC 6901)."""
        return _pointer(self.path)

    def as_json(self) -> dict[str, Any]:
        """Return the change as an operation of a JSON Patch."""
        found = {"op": self.op, "path": self.pointer}
        if self.op == MOVE:
            return {**found, "from": _pointer(self.source)}
        return found if self.op == REMOVE else {**found, "value": self.after}


def changes(before: Any, after: Any, *, effort: alignment.Effort | None = None) -> tuple[Change, ...]:
    """Return what makes `after` of `before`, in order. Items of lists are found again where they have moved along.

    Where all items of both lists have an `id` of their own they are compared with their like, wherever that stands.

    Two lists that are too large for the `effort` that is left are compared item by item.
    """
    return tuple(_changes((), before, after, effort or alignment.Effort()))


def patch(found: Sequence[Change]) -> list[dict[str, Any]]:
    """Return the changes as a JSON Patch: applied to the value before, it gives the one after."""
    return [change.as_json() for change in found]


def _changes(path: Path, before: Any, after: Any, effort: alignment.Effort) -> Iterator[Change]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in sorted(before.keys() | after.keys()):
            if name not in after:
                yield Change(op=REMOVE, path=(*path, name), before=before[name])
            elif name not in before:
                yield Change(op=ADD, path=(*path, name), after=after[name])
            else:
                yield from _changes((*path, name), before[name], after[name], effort)
    elif isinstance(before, list | tuple) and isinstance(after, list | tuple):
        yield from (_by_id(path, before, after, effort) or _items(path, before, after, effort))
    elif _text(before) != _text(after):
        yield Change(op=REPLACE, path=path, before=before, after=after)


def _items(
    path: Path, before: Sequence[Any], after: Sequence[Any], effort: alignment.Effort
) -> Iterator[Change]:
    found = alignment.blocks([_text(item) for item in before], [_text(item) for item in after], effort)
    for block in found:
        if block.same:
            continue
        # What stands before this block is as it will be by now, so that places are those of `after`.
        for i, j in zip(block.before, block.after, strict=False):
            yield from _changes((*path, j), before[i], after[j], effort)
        paired = min(len(block.before), len(block.after))
        at = block.after.start + paired
        for i in block.before[paired:]:
            yield Change(op=REMOVE, path=(*path, at), before=before[i])
        for j in block.after[paired:]:
            yield Change(op=ADD, path=(*path, j), after=after[j])


def _by_id(
    path: Path, before: Sequence[Any], after: Sequence[Any], effort: alignment.Effort
) -> Iterator[Change] | None:
    """Return the changes of two lists of things with ids; None where they are others, or moved too much to look at."""
    old, new = _ids(before), _ids(after)
    if not old or not new:
        return None
    common = [one for one in new if one in old]
    still = alignment.still([old[one] for one in common])
    if not effort.take((len(common) - sum(still)) * len(old)):
        return None
    return _with_ids(path, before, after, dict(zip(common, still, strict=True)), effort)


def _with_ids(
    path: Path,
    before: Sequence[Any],
    after: Sequence[Any],
    still: Mapping[str, bool],
    effort: alignment.Effort,
) -> Iterator[Change]:
    """Yield what goes, what moves (`still`: what doesn't, in the new order), what comes, then what is different."""
    old, new = _ids(before), _ids(after)
    gone = [one for one in old if one not in new]
    for count, one in enumerate(gone):
        yield Change(op=REMOVE, path=(*path, old[one] - count), before=before[old[one]])
    there = [one for one in old if one in new]
    previous = None
    for one, stays in still.items():
        if not stays:
            at = there.index(one)
            del there[at]
            to = 0 if previous is None else there.index(previous) + 1
            there.insert(to, one)
            yield Change(
                op=MOVE,
                path=(*path, to),
                source=(*path, at),
                before=before[old[one]],
                after=after[new[one]],
                places=(old[one] + 1, new[one] + 1),
            )
        previous = one
    for one, j in new.items():
        if one not in old:
            yield Change(op=ADD, path=(*path, j), after=after[j])
    for one in still:
        yield from _changes((*path, new[one]), before[old[one]], after[new[one]], effort)


def _ids(items: Sequence[Any]) -> dict[str, int]:
    """Return the place of each item by its id; nothing unless every item has one of its own."""
    found = {
        item["id"]: place
        for place, item in enumerate(items)
        if isinstance(item, Mapping) and isinstance(item.get("id"), str)
    }
    return found if len(found) == len(items) else {}


def _pointer(path: Path) -> str:
    return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in path)


def _text(value: Any) -> str:
    return exact.canonical(value, limit=None)
