"""A new plan that the agent asks for: what it changes, and what a person has locked in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import models, plan_changes, state
from runs.engine import frontier as frontiers
from runs.transitions import steps
from runs.transitions.steps import guards


def change(front: frontiers.Frontier, arguments: Any) -> steps.Change:
    """Return the change that a `plan` call asks for; refuse (ValueError) with one sentence what may not be changed."""
    found = _asked_for(arguments, known=frozenset(step.id for step in front.situation.state.plan))
    if found.done:
        _check_done(front, found.done)
    elif found.skip is None:
        _check_ids(front, found)
    _check_locks(front, found)
    return found


def _asked_for(arguments: Any, *, known: frozenset[str]) -> steps.Change:
    """Return the change that a `plan` call asks for; refuse (ValueError) with one sentence what isn't one."""
    if not isinstance(arguments, Mapping):
        raise ValueError("the arguments must be an object.")
    reason = str(arguments.get("reason", ""))
    for key in ("skip", "replace"):
        name = arguments.get(key)
        if name is not None and not (isinstance(name, str) and name in known):
            raise ValueError(f"there is no open step {name!r} to {key}.")
    if arguments.get("skip") is not None:
        return steps.Change(skip=arguments["skip"], reason=reason)
    done = arguments.get("done")
    if done is not None:
        if not isinstance(done, list) or not done or not all(isinstance(name, str) for name in done):
            raise ValueError("'done' must be a list of step ids.")
        return steps.Change(done=tuple(dict.fromkeys(done)), reason=reason)
    raw = arguments.get("steps")
    if not isinstance(raw, list):
        raise ValueError("'steps' must be a list.")
    return steps.Change(
        steps=tuple(steps.plan_step(item, number) for number, item in enumerate(raw, start=1)),
        replace=arguments.get("replace"),
        reason=reason,
    )


def _check_ids(front: frontiers.Frontier, change: steps.Change) -> None:
    """Refuse ids that stand twice; in an expansion also those of steps that stay."""
    ids = [str(step["id"]) for step in change.steps]
    twice = plan_changes.twice(ids)
    if twice is None and change.replace is not None:
        rows = models.PlanStep.objects.filter(run=front.run, key__in=ids).exclude(key=change.replace)
        twice = rows.values_list("key", flat=True).first()
    if twice is not None:
        raise ValueError(f"the step id {twice!r} stands twice.")


def _check_done(front: frontiers.Frontier, names: tuple[str, ...]) -> None:
    """Refuse to mark what is no open step."""
    rows = models.PlanStep.objects.filter(run=front.run, key__in=names, state__in=frontiers.OPEN_STEPS)
    unknown = sorted(set(names) - set(rows.values_list("key", flat=True)))
    if unknown:
        raise ValueError(f"there is no open step {unknown[0]!r} to mark as done.")


def _check_locks(front: frontiers.Frontier, change: steps.Change) -> None:
    """Refuse to skip or exchange a step that a person locked, unless that is how the step itself is carried out."""
    name = change.skip if change.skip is not None else change.replace
    step = next((step for step in front.situation.state.plan if step.id == name), None)
    by = guards.owner(step.body, guards.LOCK) if step is not None else ""
    if step is None or not by:
        return
    own = "if" in step.body if change.skip is not None else _expands(change, step)
    if not own:
        raise ValueError(f"{by} locked the step {step.id!r}; only a person can change it.")


def _expands(change: steps.Change, step: state.PlanStep) -> bool:
    """Return whether the new steps are the rows of this very loop."""
    return all(
        new["body"].get("group") == step.id and new["body"].get("tool") == step.body.get("tool")
        for new in change.steps
    )
