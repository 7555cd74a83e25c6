"""A dry run: each effect is previewed and none is done, and nobody is asked: an answer that fits is supposed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from runs import jsonschemas, redaction, samples, state
from runs.engine import frontier as frontiers
from runs.engine import gates, history, outside, preparing, verdicts
from runs.engine.heartbeat import Heartbeat
from runs.transitions import steps
from runs.transitions.refusals import LostAuthority

log = structlog.get_logger(__name__)


def simulate(
    claim: steps.Claim, front: frontiers.Frontier, calls: tuple[state.CallState, ...], beat: Heartbeat
) -> None:
    """Close these calls with what would have been done, as if it had been released.

    Refuses LostAuthority, ContractChanged and Dropped.
    """
    policy = verdicts.in_force()
    steps.simulate(claim, [_simulated(front, policy, call, beat) for call in calls])


def _simulated(
    front: frontiers.Frontier, policy: verdicts.InForce, call: state.CallState, beat: Heartbeat
) -> steps.Simulated:
    action = front.actions[call.id]
    tool = preparing.tool_of(action)
    args = preparing.arguments_of(action, tool)
    summary = tool.title or action.tool
    shown: Mapping[str, Any] | None = None
    try:
        shown = preparing.preview_of(front, tool, args, beat)
        summary = str(shown["summary"]) if shown is not None else summary
    except (LostAuthority, outside.Dropped):
        raise
    except Exception as error:  # as on a review: a preview that fails is said, and stops nothing
        log.warning("preview_failed", tool=action.tool, error=type(error).__name__)
        summary = redaction.clean(f"{summary} (what would happen could not be worked out: {error})")
    about = preparing.considered(front, action, args, lambda: shown)
    past = history.of(front.run, tool, identity=action.identity_digest, but=action.pk)
    again = "This looks like something that was already proposed or done in this run."
    demanded = gates.why(front, tool=action.tool, step=action.step or None)
    why = [
        sentence
        for sentence in (demanded, *past.reasons, again if action.duplicate_of_id else "")
        if sentence
    ]
    verdict = verdicts.ask(policy, about, agent=front.agent.name, tool=type(tool), never_allow=bool(why))
    return steps.Simulated(call=call.id, summary=summary, verdict=verdict, why=" ".join(why), preview=shown)


def suppose(front: frontiers.Frontier, call: state.CallState, verdict: steps.Verdict) -> None:
    """Close a question with an answer that fits its schema, or without one where none is found. Refuses Changed."""
    arguments = front.arguments[call.id]
    try:
        answer = samples.of(arguments["schema"])
    except (samples.NoSample, jsonschemas.BadSchema):
        answer = None
    steps.suppose(
        front.claim, call.id, step=call.step, question=arguments["question"], answer=answer, verdict=verdict,
        seen=front.situation.inbox,
    )  # fmt: skip
