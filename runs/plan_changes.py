"""What one version of a plan changes about another, and what an edit overtakes: pure.

A step is {"id", "title", "body"}; it is the same step as long as it keeps its id.
"""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs import differences, exact

GATE, LOCK = "gate", "lock"
GUARDS = (GATE, LOCK)
"""What people put on steps: a gate asks before the step, a lock keeps the agent from changing it."""

TEXTS = ("tool", "each", "as", "key", "row_title", "if", "note")
"""Fields of a step's body that are texts, or absent."""

ADDED, REMOVED, MOVED, CHANGED = "added", "removed", "moved", "changed"

Step = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Change:
    """How one step differs between two versions; places count from 1."""

    id: str
    title: str
    kinds: tuple[str, ...]
    was: int | None
    now: int | None
    differences: tuple[differences.Difference, ...] = ()

    @property
    def up(self) -> bool:
        """Return whether it stands earlier now."""
        return self.was is not None and self.now is not None and self.now < self.was


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A step of the plan as it stands: where its open call is, whether it can still be changed."""

    id: str
    definition: Step
    state: str
    ahead: bool  # not closed
    locked: bool  # it has an intent, or is over
    call: tuple[int, int] | None  # its open call
    irreversible: bool


_UNTYPABLE = re.compile("[\x00\ud800-\udfff]")


def is_id(text: str) -> bool:
    """Return whether a step could be called so."""
    return 1 <= len(text) <= 120 and not _UNTYPABLE.search(text)


def untypable(step: Step) -> str:
    """Return the first of the step's texts that no form can hold, by its name: NUL or half a character is in it."""
    body = step["body"]
    texts = {"title": step["title"], **{name: body.get(name) for name in TEXTS}}
    texts |= {"question": part(body, "ask").get("question"), "summary": part(body, "finish").get("summary")}
    found = (name for name, text in texts.items() if isinstance(text, str) and _UNTYPABLE.search(text))
    return next(found, "")


def part(body: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Return a part of a step's body that should be an object; an empty one where it isn't."""
    found = body.get(name)
    return found if isinstance(found, Mapping) else {}


def twice(ids: Iterable[str]) -> str | None:
    """Return the first id that stands twice."""
    seen: set[str] = set()
    for name in ids:
        if name in seen:
            return name
        seen.add(name)
    return None


def between(old: Sequence[Step], new: Sequence[Step]) -> tuple[Change, ...]:
    """Return the steps that differ, in the new order, then those that are gone."""
    before = {step["id"]: (place, step) for place, step in enumerate(old, start=1)}
    after = {step["id"]: place for place, step in enumerate(new, start=1)}
    kept = [name for name in after if name in before]
    still = _still([(before[name][0], after[name]) for name in kept])
    moved = {
        name for name, stays in zip(kept, still, strict=True) if not stays and before[name][0] != after[name]
    }
    found = []
    for place, step in enumerate(new, start=1):
        name = step["id"]
        if name not in before:
            found.append(Change(id=name, title=step["title"], kinds=(ADDED,), was=None, now=place))
            continue
        was, other = before[name]
        changes = _differences(other, step)
        kinds = ((MOVED,) if name in moved else ()) + ((CHANGED,) if changes else ())
        if kinds:
            found.append(
                Change(id=name, title=step["title"], kinds=kinds, was=was, now=place, differences=changes)
            )
    for name, (was, step) in before.items():
        if name not in after:
            found.append(Change(id=name, title=step["title"], kinds=(REMOVED,), was=was, now=None))
    return tuple(found)


def merged(base: Sequence[Step], mine: Sequence[Step], theirs: Sequence[Step]) -> list[Step]:
    """Return their version with what I changed of the base applied: my words, my additions, removals and order.

    Where both changed the same step, mine counts; a step that they changed and I removed stays.
    """
    was = {step["id"]: step for step in base}
    my = {step["id"]: step for step in mine}
    gone = {name for name in was if name not in my}
    found: list[Step] = []
    for step in theirs:
        name = step["id"]
        if name in gone and not _differences(was[name], step):
            continue
        changed = name in my and (name not in was or bool(_differences(was[name], my[name])))
        found.append(my[name] if changed else step)
    there = {step["id"] for step in found}
    if [step["id"] for step in base if step["id"] in my] != [
        step["id"] for step in mine if step["id"] in was
    ]:
        places = [at for at, step in enumerate(found) if step["id"] in my]
        order = {name: at for at, name in enumerate(my)}
        for at, step in zip(
            places, sorted((found[at] for at in places), key=lambda step: order[step["id"]]), strict=True
        ):
            found[at] = step
    for at, step in enumerate(mine):
        if step["id"] not in was and step["id"] not in there:
            before = {other["id"] for other in mine[:at]}
            place = max((i + 1 for i, other in enumerate(found) if other["id"] in before), default=0)
            found.insert(place, step)
    return found


def overtakes(step: Standing, now: Sequence[Standing], wanted: Sequence[Step]) -> bool:
    """Return whether the edit overtakes what was proposed for a step: its tool, arguments, gate, or what comes before.

    The steps before count for what can't be taken back. A title or a lock changes nothing that was asked about.
    """
    if step.locked:
        return False
    at = next((index for index, other in enumerate(wanted) if other["id"] == step.id), None)
    if at is None:
        return True
    old, new = ({**body, LOCK: None} for body in (step.definition["body"], wanted[at]["body"]))
    if old != new:
        return True
    closed = {other.id for other in now if not other.ahead}
    index = [other.id for other in now].index(step.id)
    before = [other.definition for other in now[:index] if other.ahead]
    after = [other for other in wanted[:at] if other["id"] not in closed]
    return step.irreversible and _order(before) != _order(after)


def _order(steps: Sequence[Step]) -> list[Any]:
    return [(step["id"], {**step["body"], LOCK: None}) for step in steps]


def _differences(old: Step, new: Step) -> tuple[differences.Difference, ...]:
    return differences.between(_told(old), _told(new))


def _told(step: Step) -> dict[str, Any]:
    body = {("arguments" if name == "with" else name): value for name, value in step["body"].items()}
    for guard in GUARDS:
        if not body.get(guard):
            body.pop(guard, None)
        elif body[guard] is True:  # not saved yet: it will say whose it is
            body[guard] = {}
    return {"title": step["title"], **body}


def _still(places: Sequence[tuple[int, int]]) -> list[bool]:
    """Return which of the (old, new) places, in the new order, keep their order; the others were moved.

    They are a longest row of growing old places, of those the one with most that are at their old place.
    """
    worth = len(places) + 1  # one more in the row is worth more than any number at their old place
    before_it: dict[int, int] = {}  # by old place: the one before it in the best row that ends there
    ends: list[tuple[int, int]] = []  # old places and the worth of their best rows; both grow
    for old, new in places:
        at = bisect.bisect_left(ends, (old, 0))
        before, so_far = ends[at - 1] if at else (0, 0)
        value = so_far + worth + (old == new)
        before_it[old] = before
        end = at
        while end < len(ends) and ends[end][1] <= value:
            end += 1
        ends[at:end] = [(old, value)]
    kept = set()
    last = ends[-1][0] if ends else 0
    while last:
        kept.add(last)
        last = before_it[last]
    return [old in kept for old, _ in places]


def text_of(value: str | None, *, limit: int = 400) -> str:
    """Return one side of a difference for people: a text without its quotes, cut where it is very long."""
    if value is None:
        return ""
    known = exact.parse(value)
    shown = known if isinstance(known, str) else value
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"
