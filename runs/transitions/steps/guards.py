"""Gates and locks that people put on plan steps: pure. Only a person takes one away.

A gate asks a person before anything of its step starts; a lock keeps a step as it is. Both stand in the step's body as
{"by": <name>}, so that every version says whose they are. A gate of the plan's own is just true: it only adds a review,
so whoever wrote the plan may have it, and leave it out again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs.plan_changes import GATE as GATE
from runs.plan_changes import GUARDS as GUARDS
from runs.plan_changes import LOCK as LOCK

Step = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Kept:
    """The steps of a version as they are saved, and a sentence for each thing that was kept against it."""

    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()


def owner(body: Mapping[str, Any], guard: str) -> str:
    """Return who put this guard on a step, or an empty text."""
    found = body.get(guard)
    return str(found.get("by") or "") if isinstance(found, Mapping) else ""


def in_place(old: Step, steps: Sequence[Step]) -> Kept:
    """Return the steps that an agent puts in the place of `old`: they carry its guards."""
    guards = {guard: old["body"][guard] for guard in GUARDS if owner(old["body"], guard)}
    return Kept(steps=tuple(_guarded(step, guards) for step in steps))


def whole(old: Sequence[Step], steps: Sequence[Step]) -> Kept:
    """Return an agent's whole new plan with what people guarded kept: locked steps as they are, gated ones at all.

    `old` holds the open steps so far. What stands in the place of a gated step that was dropped gets the gate too, or
    another name for the same thing would pass it.
    """
    known = {step["id"]: step for step in old}
    named = {step["id"] for step in steps}
    dropped = [
        step for step in old if step["id"] not in named and any(owner(step["body"], name) for name in GUARDS)
    ]
    gates = [step["body"][GATE] for step in dropped if owner(step["body"], GATE)]
    found: list[Step] = []
    notes = [f"Step {step['id']!r} stays: {_whose(step)}." for step in dropped]
    for step in steps:
        before = known.get(step["id"])
        if before is None:
            found.append(_guarded(step, {GATE: gates[0]} if gates else {}))
        elif owner(before["body"], LOCK):
            if before["body"] != step["body"] or before["title"] != step["title"]:
                notes.append(f"Step {step['id']!r} stays as it was: {_whose(before)}.")
            found.append(before)
        else:
            gate = {GATE: before["body"][GATE]} if owner(before["body"], GATE) else {}
            found.append(_guarded(step, gate))
    for step in dropped:
        found.insert(_place(step, old, found), step)
    return Kept(steps=tuple(found), notes=tuple(notes))


def _guarded(step: Step, guards: Mapping[str, Any]) -> Step:
    """Return the step with these guards and none that an agent made up, but for a gate of its own."""
    body = {name: value for name, value in step["body"].items() if name not in GUARDS}
    own = {GATE: True} if step["body"].get(GATE) is True else {}
    return {**step, "body": {**body, **own, **guards}}


def _place(step: Step, old: Sequence[Step], found: Sequence[Step]) -> int:
    """Return where a dropped step goes: behind the last one of those before it that is still there."""
    before = {other["id"] for other in old[: [other["id"] for other in old].index(step["id"])]}
    return max((at + 1 for at, other in enumerate(found) if other["id"] in before), default=0)


def _whose(step: Step) -> str:
    by = owner(step["body"], LOCK)
    return f"{by} locked it" if by else f"{owner(step['body'], GATE)} wants to be asked before it"
