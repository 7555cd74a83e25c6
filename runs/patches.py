"""What is different between two JSON values, path by path, and as a patch that makes one of the other (RFC 6902). Pure.

Exact to the byte of the canonical text: 1, 1.0 and true are three values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs import alignment, exact

ADD, REMOVE, REPLACE = "add", "remove", "replace"

Path = tuple[str | int, ...]


@dataclass(frozen=True, kw_only=True)
class Change:
    """One place that differs. Its path is the place once all changes before it in the list are made."""

    op: str
    path: Path
    before: Any = None
    after: Any = None

    @property
    def pointer(self) -> str:
        """Return the path as a JSON Pointer (RFC 6901)."""
        return "".join(f"/{str(part).replace('~', '~0').replace('/', '~1')}" for part in self.path)

    def as_json(self) -> dict[str, Any]:
        """Return the change as an operation of a JSON Patch."""
        found = {"op": self.op, "path": self.pointer}
        return found if self.op == REMOVE else {**found, "value": self.after}


def changes(before: Any, after: Any, *, effort: alignment.Effort | None = None) -> tuple[Change, ...]:
    """Return what makes `after` of `before`, in order. Items of lists are found again where they have moved along.

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
        yield from _items(path, before, after, effort)
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


def _text(value: Any) -> str:
    return exact.canonical(value, limit=None)
