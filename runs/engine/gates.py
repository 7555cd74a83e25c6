"""What the plan demands on top of policy: gates that people put on steps, and that an approved plan is kept to.

Both only ever add a review. An approved plan approves no action: what policy asks about is asked all the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import models
from runs.engine import frontier as frontiers
from runs.models import kept, paths
from runs.tools import registry
from runs.transitions.steps import guards


def why(front: frontiers.Frontier, *, tool: str, step: str | None) -> str:
    """Return why a call of `tool` for this plan step has to be read by a person, or an empty text."""
    if front.run.renewed_at and _left_behind(front.run, tool):
        return "The tool has changed since this run proposed it; what was approved before doesn't count any more."
    body = None if step is None else _body(front, step)
    if body is not None and body.get(guards.GATE):
        return f"{guards.owner(body, guards.GATE) or 'The plan'} wants to be asked before this step."
    return deviation(front, tool=tool, step=step)


def deviation(front: frontiers.Frontier, *, tool: str, step: str | None) -> str:
    """Return how a call leaves the plan that was approved, or an empty text."""
    approved = front.situation.state.approved_plan
    if not front.agent.approve_plan or not approved:
        return ""
    steps = _approved(front.run.pk, approved)
    if _fits(steps, step, None if step is None else _body(front, step), tool):
        return ""
    changed = step is not None and step in steps
    how = "its step is another than" if changed else "it belongs to no step of"
    return f"This is a deviation: {how} the plan that was approved, version {approved}."


def _left_behind(run: models.Run, tool: str) -> bool:
    """Return whether the run has proposed this tool under a contract that it has left behind."""
    rows = models.Action.objects.filter(run=run, tool=tool).exclude(contract=registry.get(tool).contract())
    return rows.exists()


def _body(front: frontiers.Frontier, key: str) -> Mapping[str, Any] | None:
    for step in front.situation.state.plan:
        if step.id == key:
            return step.body
    row = models.PlanStep.objects.filter(run=front.run, key=key).only("body").first()
    return None if row is None else dict(row.body)


@kept.by_number(64)
def _approved(run_id: int, version: int) -> Mapping[str, Mapping[str, Any]]:
    """Return the bodies of an approved version by step id; versions are immutable."""
    plan = paths.plan(models.Run.objects.get(pk=run_id), version)
    return {step["id"]: step["body"] for step in plan.steps} if plan is not None else {}


def _fits(
    approved: Mapping[str, Mapping[str, Any]], step: str | None, body: Mapping[str, Any] | None, tool: str
) -> bool:
    """Return whether the step stands in the approved plan as it is now, or is a row of a loop that does."""
    if step is None or body is None:
        return False
    known = approved.get(step)
    if known is None:
        loop = approved.get(str(body.get("group", "")))
        return loop is not None and loop.get("tool") == body.get("tool") == tool
    return _bare(known) == _bare(body) and body.get("tool") in {None, tool}


def _bare(body: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in body.items() if name not in guards.GUARDS}
