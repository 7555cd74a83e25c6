"""The first move of a run that goes on from a checkpoint: fold its path once, and build what the engine reads."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from runs import lifecycle, models, state
from runs.engine import frontier as frontiers
from runs.engine import proposing, told, undoing, verdicts
from runs.engine.heartbeat import Heartbeat
from runs.models import paths
from runs.providers import contract
from runs.providers import registry as providers
from runs.transitions import steps, undos


def reopen(claim: steps.Claim, beat: Heartbeat) -> None:
    """Build the plan's rows, and propose every call that was open at the cut as this run's own.

    Refuses LostAuthority. It is repeated freely after a crash: nothing is written before its one commit.
    """
    front = frontiers.load(claim)
    run = front.run
    current, log, raw, inputs = _folded(run)
    wishes = _wishes(run)
    policy = verdicts.in_force()
    checked: list[steps.Proposed] = []
    opened: list[steps.Opened] = []
    # Undos before the others, so that none of those is absorbed by what is about to be taken back.
    for call in sorted(current.open_calls(), key=lambda one: not one.undo):
        proposed = _again(front, policy, raw[call.id], checked, beat)
        checked.append(proposed)
        corrected = None
        if call.id in wishes and not proposed.refusal:
            wished = raw[call.id] | {"arguments": wishes[call.id]}
            corrected = _again(front, policy, wished, checked[:-1], beat)
        opened.append(steps.Opened(call=call.id, proposed=proposed, corrected=corrected))
    plan = tuple(
        steps.Progress(step=step, called=log.steps[step.id].called, closed=log.steps[step.id].closed)
        for step in current.plan
    )
    first = _first(run)
    by, reason = run.created_by.get_username(), str(first.content.get("reason", ""))
    back = tuple(
        undoing.check(run, steps.asked(number, by=by, reason=reason, first=True))
        for number in first.content.get("undo_first", ())
    )
    ends = first.content["code"] == undos.CODE  # it has nothing else to do
    last = {"summary": "What was asked for is taken back.", "result": None} if ends else None
    titles = _titles(front.agent, current, inputs)
    steps.reopen(
        claim,
        plan=plan,
        calls=tuple(opened),
        policy_version=policy.version,
        first=back,
        last=last,
        titles=titles,
    )


def _titles(agent: contract.AgentSpec, current: state.State, inputs: Sequence[Any]) -> dict[str, str]:
    """Return the titles of steps that begin anew and name what was corrected of the input.

    A step that is over, or whose call is open at the cut, worked on the old input, and goes on saying so.
    """
    if len(inputs) < 2:
        return {}
    ahead = [
        {"id": step.id, "title": step.title}
        for step in current.plan
        if step.state in {lifecycle.Step.PENDING, lifecycle.Step.FAILED}
    ]
    return providers.retitled(agent.provider, agent.definition, ahead, old=inputs[-2], new=inputs[-1])


def _folded(
    run: models.Run,
) -> tuple[state.State, told.Log, dict[state.CallId, dict[str, Any]], list[Any]]:
    """Return the state at the cut, what the log tells of the plan's steps, each call as it stood, and the inputs."""
    current, log = state.State(), told.Log()
    raw: dict[state.CallId, dict[str, Any]] = {}
    inputs: list[Any] = []
    for line, current in state.walk(paths.told(run.path, run.pk)):
        log.read(line, current)
        content = line.content
        if line.kind == lifecycle.EntryKind.REPLY:
            raw = {(line.position, index): dict(call) for index, call in enumerate(content["calls"])}
        elif line.kind == lifecycle.EntryKind.CALL:
            raw[content["call"][0], content["call"][1]] = dict(content)
        elif line.kind == lifecycle.EntryKind.REVISION:
            raw[content["call"][0], content["call"][1]]["arguments"] = content["arguments"]
        elif line.kind in {lifecycle.EntryKind.INPUT, lifecycle.EntryKind.CORRECTION}:
            inputs.append(content["input"])
    return current, log, raw, inputs


def _wishes(run: models.Run) -> dict[state.CallId, Any]:
    """Return the arguments that the person who made this run corrected."""
    wishes = _first(run).content.get("arguments", [])
    return {(position, index): arguments for position, index, arguments in wishes}


def _first(run: models.Run) -> models.Entry:
    """Return the run's own first line: where it comes from, and what was wanted of it."""
    return models.Entry.objects.filter(run=run).order_by("position")[:1].get()


def _again(
    front: frontiers.Frontier,
    policy: verdicts.InForce,
    raw: dict[str, Any],
    earlier: list[steps.Proposed],
    beat: Heartbeat,
) -> steps.Proposed:
    if raw.get("undo_of") is not None:
        keys = ("undo_of", "by", "reason", "first")
        return undoing.check(front.run, {key: raw[key] for key in keys}).call
    call = contract.Call(
        tool=raw["tool"], arguments=raw["arguments"], step=raw["step"], label=raw.get("label", "")
    )
    return proposing.check(front, policy, call, earlier, beat)
