"""A person's edit of a run's plan: only while nobody works on the run, and only on the version that was seen.

The new version is written at once; the run's fence grows, so that nobody who held the run before can write beside it.
What the edit overtakes, open and approved actions of changed steps, the engine closes in its next turn, before
anything else.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from runs import exact, hints, lifecycle, models, plan_changes, rights
from runs.models import standing
from runs.providers import registry as providers
from runs.tools import registry
from runs.transitions import attempts, audit, inbox, log, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale
from runs.transitions.steps import plans

MAX_STEPS = 1_000
_WAITS = frozenset({lifecycle.Run.PAUSED, lifecycle.Run.WAITING})


@dataclass(frozen=True, kw_only=True)
class Edit:
    """The whole plan as a person wants it, the version that they saw, and why."""

    base: int
    steps: Any
    reason: str


@attempts.noted("plan.edit", "run {}")
def save(run_id: int, edit: Edit, *, by: Actor) -> models.Plan:
    """Return the new version; the same edit sent twice returns the one it made.

    Refuses NotYours without the right, Invalid (one sentence) for what is no plan or changes what has started, and
    Stale when the run goes on, has ended, or has another version of the plan by now.
    """
    user = by.user
    if user is None or not rights.may(user.roles(), rights.Act.EDIT_PLAN):
        raise NotYours("You may not change plans; an operator can.")
    reason = texts.typed(edit.reason, "reason")
    if not texts.says(reason):
        raise Invalid("Say why the plan changes; the reason stays with the version.")
    with committing("edit_plan"):
        run = inbox.lock(run_id)
        now = standing.of(run)
        wanted = _stamped(checked(run, edit.steps), [step.definition for step in now], user)
        made = _made_before(run, edit, wanted, user)
        if made is not None:
            return made
        _check_rest(run, edit)
        if wanted == [step.definition for step in now]:
            raise Invalid("Nothing differs from the plan as it stands.")
        _check_locked(now, wanted)
        _check_order(run, now, wanted)
        run.fence += 1
        lines = log.Log(run)
        change = plans.Change(steps=tuple(wanted), reason=reason)
        plan = plans.write(run, lines, change, author=user, boundary=lifecycle.Boundary.EDITED)
        lines.flush()
        run.save(
            update_fields=[
                "fence",
                "position",
                "head",
                "checkpoint_number",
                "checkpoint_position",
                "plan_version",
            ]
        )
        overtaken = [
            [*step.call, step.id] for step in now if step.call and plan_changes.overtakes(step, now, wanted)
        ]
        content = {"version": plan.version, "digest": plan.digest, "overtaken": overtaken, "reason": reason}
        inbox.leave(run, models.Fact.Kind.PLAN_EDIT, content, by=user, mover="P")
        audit.append(
            "plan.edited", actor=by, run=run, subject=f"run {run.pk}",
            content={**content, "position": run.position, "head": run.head},
        )  # fmt: skip
        hints.changed(run.pk, inbox=bool(overtaken))
        return plan


def checked(run: models.Run, raw: Any) -> list[dict[str, Any]]:
    """Return the steps of a plan that the run's provider could carry out; refuse (Invalid) anything else."""
    if not isinstance(raw, list):
        raise Invalid("A plan is a list of steps.")
    if len(raw) > MAX_STEPS:
        raise Invalid(f"This plan has {len(raw):,} steps; the limit is {MAX_STEPS:,}.")
    version = run.agent_version
    steps = []
    before = {step["id"]: step for step in plans.definitions(run)}
    for number, item in enumerate(raw, start=1):
        try:
            step = plans.step(item, number)
            exact.canonical(step)
            if step != before.get(step["id"]):
                _check_body(version, step)
        except ValueError as error:
            sentence = str(error)
            raise Invalid(f"{sentence[:1].upper()}{sentence[1:]}") from error
        steps.append(step)
    twice = plan_changes.twice(step["id"] for step in steps)
    if twice is not None:
        raise Invalid(f"The step id {twice!r} stands twice.")
    return steps


def _check_body(version: models.AgentVersion, step: Mapping[str, Any]) -> None:
    """Refuse (ValueError, naming the step) what the provider can't carry out."""
    try:
        providers.check_step(version.provider, step["body"], tuple(version.tools))
        _check_tool(step)
    except ValueError as error:
        said = str(error)
        raise ValueError(said if said.startswith("step ") else f"step “{step['title']}”: {said}") from error


def _check_tool(step: Mapping[str, Any]) -> None:
    """Refuse (ValueError) bound arguments that the tool won't take, and a gate where nothing could be asked about."""
    body = step["body"]
    named = body.get("tool")
    try:
        tool = registry.get(named) if isinstance(named, str) else None
    except registry.UnknownTool as error:
        raise ValueError(str(error)) from error
    if body.get(plan_changes.GATE) and (
        body.keys() & {"finish", "ask"} or (tool is not None and tool.risk() == 0)
    ):
        raise ValueError(
            f"step {step['id']!r} changes nothing outside, so nobody could be asked; put the gate on one that does."
        )
    if tool is not None and "group" in body:  # a row of a loop: nothing in it is filled in any more
        tool.settled(body.get("with", {}))


def _stamped(
    steps: list[dict[str, Any]], old: Sequence[Mapping[str, Any]], user: models.User
) -> list[dict[str, Any]]:
    """Return the steps with each gate and lock saying whose it is: this person's, unless it stood there before."""
    bodies = {step["id"]: step["body"] for step in old}
    found = []
    for step in steps:
        body = dict(step["body"])
        for guard in plan_changes.GUARDS:
            before = bodies.get(step["id"], {}).get(guard)
            if not body.get(guard):
                body.pop(guard, None)
            elif body[guard] != before:
                body[guard] = {"by": user.get_username()}
        found.append({**step, "body": body})
    return found


def _made_before(
    run: models.Run, edit: Edit, wanted: list[dict[str, Any]], user: models.User
) -> models.Plan | None:
    """Return the version that this very edit has made already: a form that was sent twice."""
    if run.plan_version != edit.base + 1:
        return None
    newest = models.Plan.objects.filter(run=run, version=run.plan_version, author=user).first()
    return newest if newest is not None and newest.digest == exact.digest_of(wanted) else None


def _check_rest(run: models.Run, edit: Edit) -> None:
    if run.status in lifecycle.RUN_ENDED:
        raise Stale("This run has ended; its plan can't be changed any more.")
    if run.stop_at is not None:
        raise Stale("This run is being stopped; its plan can't be changed any more.")
    if run.status not in _WAITS:
        raise Stale("The run goes on by now; pause it, then save the plan.")
    if run.plan_version == 0:
        raise Stale("This run has no plan yet.")
    if run.plan_version != edit.base:
        raise Stale(f"The plan has version {run.plan_version} by now; you changed version {edit.base}.")


def _check_locked(now: list[plan_changes.Standing], wanted: list[dict[str, Any]]) -> None:
    """Refuse to change, move or take out what has started: only what is still ahead can be edited."""
    kept = {step["id"]: step for step in wanted}
    locked = [step for step in now if step.locked]
    for step in locked:
        if kept.get(step.id) != step.definition:
            title = step.definition["title"]
            raise Invalid(f"Step “{title}” has started or is over, so it has to stay as it is.")
    ids = {step.id for step in locked}
    if [step["id"] for step in wanted if step["id"] in ids] != [step.id for step in locked]:
        raise Invalid("Steps that have started or are over have to keep their order.")


def _check_order(run: models.Run, now: list[plan_changes.Standing], wanted: list[dict[str, Any]]) -> None:
    """Refuse a plan in which a step that is still to be done would not find what it reads."""
    version = run.agent_version
    found = providers.doubts(
        version.provider,
        version.definition,
        wanted,
        before=[step.definition for step in now],
        closed=frozenset(step.id for step in now if not step.ahead),
    )
    fatal = next((doubt for doubt in found if doubt.fatal), None)
    if fatal is not None:
        title = next(step["title"] for step in wanted if step["id"] == fatal.step)
        raise Invalid(f"Step “{title}”: {fatal.sentence}")
