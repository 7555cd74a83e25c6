"""What a person does to the steps of a draft, one button at a time: pure. What has started stays where it is."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs import plan_changes

Step = Mapping[str, Any]
Steps = list[Step]


@dataclass(frozen=True, kw_only=True)
class Done:
    """The steps afterwards, the step that the person is at, the one whose fields are open, and what was done."""

    steps: Steps
    at: str = ""
    opened: str = ""
    said: str = ""


def up(steps: Sequence[Step], name: str, locked: Collection[str]) -> Done:
    """Move a step before the open one above it."""
    return _moved(steps, name, locked, -1)


def down(steps: Sequence[Step], name: str, locked: Collection[str]) -> Done:
    """Move a step behind the open one below it."""
    return _moved(steps, name, locked, 1)


def remove(steps: Sequence[Step], name: str, locked: Collection[str]) -> Done:
    """Take a step out."""
    at = _place(steps, name)
    if at is None or name in locked:
        return Done(steps=list(steps), at=name)
    left = [*steps[:at], *steps[at + 1 :]]
    free = [step["id"] for step in left[at:] + left[:at][::-1] if step["id"] not in locked]
    return Done(steps=left, at=free[0] if free else "", said=f"“{steps[at]['title']}” is taken out.")


def gate(steps: Sequence[Step], name: str, locked: Collection[str]) -> Done:
    """Put an approval gate before a step, or take it away."""
    at = _place(steps, name)
    if at is None or name in locked:
        return Done(steps=list(steps), at=name)
    body = dict(steps[at]["body"])
    there = bool(body.pop(plan_changes.GATE, None))
    if not there:
        body[plan_changes.GATE] = True
    title = steps[at]["title"]
    said = f"Nobody is asked before “{title}”." if there else f"Somebody is asked before “{title}”."
    return Done(steps=[*steps[:at], {**steps[at], "body": body}, *steps[at + 1 :]], at=name, said=said)


def insert(steps: Sequence[Step], name: str, locked: Collection[str], *, new: Step) -> Done:
    """Put a new step behind one, or first where none is named, and open its fields."""
    at = _place(steps, name)
    place = 0 if at is None else at + 1
    while place < len(steps) and steps[place]["id"] in locked:
        place += 1
    return Done(
        steps=[*steps[:place], new, *steps[place:]],
        at=new["id"],
        opened=new["id"],
        said=f"A new step stands at place {place + 1}.",
    )


def edit(steps: Sequence[Step], name: str, locked: Collection[str]) -> Done:
    """Open the fields of a step."""
    known = _place(steps, name) is not None and name not in locked
    return Done(steps=list(steps), at=name, opened=name if known else "")


def order(steps: Sequence[Step], names: Sequence[str], locked: Collection[str]) -> Done:
    """Put the open steps in the order of the names; what isn't named, or is locked, stays at its place."""
    wanted = [name for name in dict.fromkeys(names) if name not in locked and _place(steps, name) is not None]
    known = {step["id"]: step for step in steps}
    rest = iter(wanted)
    placed = set(wanted)
    found = [known[next(rest)] if step["id"] in placed else step for step in steps]
    before = [step["id"] for step in steps]
    moved = next((name for at, name in enumerate(before) if found[at]["id"] != name), "")
    return Done(steps=found, said="The steps are in another order." if moved else "")


def free_id(steps: Sequence[Step], base: int) -> str:
    """Return an id that no step has or had: with the version that is changed in it."""
    known = {step["id"] for step in steps}
    number = 1
    while f"added-{base}-{number}" in known:
        number += 1
    return f"added-{base}-{number}"


MOVES: Mapping[str, Callable[[Sequence[Step], str, Collection[str]], Done]] = {
    "up": up,
    "down": down,
    "remove": remove,
    "gate": gate,
    "edit": edit,
}


def _moved(steps: Sequence[Step], name: str, locked: Collection[str], by: int) -> Done:
    at = _place(steps, name)
    if at is None or name in locked:
        return Done(steps=list(steps), at=name)
    other = at + by
    while 0 <= other < len(steps) and steps[other]["id"] in locked:
        other += by
    title = steps[at]["title"]
    if not 0 <= other < len(steps):
        edge = "first" if by < 0 else "last"
        return Done(steps=list(steps), at=name, said=f"“{title}” is the {edge} step that can be moved.")
    found = list(steps)
    found[at], found[other] = found[other], found[at]
    return Done(steps=found, at=name, said=f"“{title}” is step {other + 1} of {len(steps)} now.")


def _place(steps: Sequence[Step], name: str) -> int | None:
    return next((at for at, step in enumerate(steps) if step["id"] == name), None)
