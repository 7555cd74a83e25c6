"""Previews and preconditions of held actions, asked outside any transaction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from django.conf import settings

from runs import exact, models, points, redaction, state
from runs.engine import frontier as frontiers
from runs.engine import gates, history, outside, undoing, verdicts
from runs.engine.context import Context
from runs.engine.heartbeat import Heartbeat
from runs.tools import registry, retyping, undo
from runs.tools.contract import BadArguments, Keep, Tool
from runs.transitions import steps
from runs.transitions.considered import Considered, Preview
from runs.transitions.refusals import LostAuthority

log = structlog.get_logger(__name__)


class ContractChanged(RuntimeError):
    """The tool no longer promises what it promised when this call was proposed; one sentence."""


def prepare(
    claim: steps.Claim, front: frontiers.Frontier, calls: tuple[state.CallState, ...], beat: Heartbeat
) -> None:
    """Open the reviews of these calls. Refuses LostAuthority and ContractChanged; repeated freely after a crash."""
    policy = verdicts.in_force()
    steps.prepare(claim, [_prepared(front, policy, call, beat) for call in calls])


def tool_of(action: models.Action) -> Tool:
    """Return the action's tool; refuse (ContractChanged) one that is gone or promises something else now."""
    try:
        tool = registry.get(action.tool)
    except registry.UnknownTool as error:
        raise ContractChanged(f"The tool {action.tool!r} is no longer installed.") from error
    if tool.contract() != action.contract:
        raise ContractChanged(f"The tool {action.tool!r} has changed since this action was proposed.")
    return tool


def outdated(front: frontiers.Frontier) -> list[state.CallState]:
    """Return the open calls, not sent, whose tool promises something else than when they were proposed."""
    found = []
    for call in front.situation.state.open_calls():
        action = front.actions.get(call.id)
        if action is None or call.unsettled:
            continue
        try:
            tool_of(action)
        except ContractChanged:
            found.append(call)
    return found


_settled: set[tuple[type[Tool], str]] = set()
"""What this process has settled and not yet asked for: it is read the same by the same code."""
_SETTLED = 1000


def settled(tool: Tool, arguments: Any, *, keep: Keep | None = None) -> str:
    """Return the text of an agent's arguments, not to be settled again when sent at once. Refuses BadArguments."""
    if isinstance(tool, undo.Undo):  # an agent could name any effect of any work
        raise BadArguments(f"{tool.name}: only people ask for something to be taken back.")
    text = tool.settled(arguments, keep=keep)
    if len(_settled) >= _SETTLED:
        _settled.clear()
    _settled.add((type(tool), text))
    return text


def arguments_of(action: models.Action, tool: Tool, held: Any = None) -> Any:
    """Return the current revision's arguments, parsed; refuse ContractChanged if they'd read differently now.

    `held` are those of the first revision, where the worker has them.
    """
    arguments = held if held is not None and action.revision == 1 else action.arguments()
    text = exact.text_of(arguments)
    known = (type(tool), text) in _settled
    _settled.discard((type(tool), text))
    if exact.digest(text) != action.digest or not (known or tool.settled(arguments) == text):
        raise ContractChanged(
            f"The arguments of {action.tool!r} would be read differently than they were approved."
        )
    return tool.parse(arguments)


def preview_of(front: frontiers.Frontier, tool: Tool, args: Any, beat: Heartbeat) -> Mapping[str, Any] | None:
    """Return what will happen, as exact JSON, or None where the tool can't say."""
    timeout, ctx = _looking(front, tool)
    points.reach("preview.before_run")
    shown = outside.look(lambda: tool.preview(args, ctx), beat=beat, timeout=timeout)
    points.reach("preview.after_run")
    return redaction.clean(exact.stored(exact.canonical(shown.as_json()))) if shown is not None else None


def precondition_of(
    front: frontiers.Frontier, tool: Tool, args: Any, beat: Heartbeat
) -> Mapping[str, Any] | None:
    """Return the part of the world that the decision rests on, as exact JSON, or None."""
    if not tool.has_precondition():
        return None
    timeout, ctx = _looking(front, tool)
    points.reach("precondition.before_run")
    found = outside.look(lambda: tool.precondition(args, ctx), beat=beat, timeout=timeout)
    points.reach("precondition.after_run")
    return None if found is None else redaction.clean(exact.stored(exact.canonical(dict(found))))


def _prepared(
    front: frontiers.Frontier, policy: verdicts.InForce, call: state.CallState, beat: Heartbeat
) -> steps.Prepared:
    action = front.actions[call.id]
    tool = tool_of(action)
    args = arguments_of(action, tool)
    notes: list[str] = []
    preview: Mapping[str, Any] | None = None
    precondition: Mapping[str, Any] | None = None
    try:
        preview = preview_of(front, tool, args, beat)
        precondition = precondition_of(front, tool, args, beat)
    except (LostAuthority, outside.Dropped):
        raise
    except Exception as error:  # a preview that fails is said, never hidden, and never stops the question
        log.warning("preview_failed", tool=action.tool, error=type(error).__name__)
        notes.append(redaction.clean(f"What will happen could not be worked out: {error}"))
    past = history.of(front.run, tool, identity=action.identity_digest, but=action.pk)
    doubts = [sentence for sentence in (undoing.why(action), *past.reasons) if sentence]
    if action.duplicate_of:
        doubts.append("This looks like something that was already proposed or done in this run.")
    about = considered(front, action, args, lambda: preview)
    verdict = verdicts.ask(policy, about, agent=front.agent.name, tool=type(tool), never_allow=True)
    if action.revision > 1:
        verdict = verdicts.of_an_edit(verdict, action)
    demanded = gates.why(front, tool=action.tool, step=action.step or None)
    leaves = gates.deviation(front, tool=action.tool, step=action.step or None)
    if action.undo_of_id is not None:  # a person asked for it: no agent left its plan
        demanded, leaves = ("" if demanded == leaves else demanded), ""
    said = list(dict.fromkeys(sentence for sentence in (leaves, demanded, *doubts) if sentence))
    if action.error:
        said = [*([leaves] if leaves else []), f"It is asked again: {action.error}."]
    why = " ".join(said) or verdict.reason
    summary = str(preview["summary"]) if preview else f"{tool.title or action.tool}"
    return steps.Prepared(
        call=call.id,
        title=summary,
        verdict=verdict,
        policy_version=policy.version,
        preview=preview,
        precondition=precondition,
        retype=retyping.asked(tool, args, verdict.tier),
        why=why,
        notes=tuple(notes),
        deviation=bool(leaves),
    )


def considered(front: frontiers.Frontier, action: models.Action, args: Any, preview: Preview) -> Considered:
    """Return the action as policy sees it."""
    return Considered(
        front.run,
        tool=action.tool,
        arguments=lambda: args.model_dump(mode="json"),
        identity=action.identity_digest,
        duplicate=action.duplicate_of_id is not None,
        deviation=lambda: bool(gates.deviation(front, tool=action.tool, step=action.step or None)),
        preview=preview,
    )


def _looking(front: frontiers.Frontier, tool: Tool) -> tuple[float, Context]:
    timeout = float(settings.CKPTSITE["READ_TIMEOUT"])
    return timeout, Context(run_id=front.run.pk, timeout=timeout, agent=front.agent.name, tool=tool.name)
