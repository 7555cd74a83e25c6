"""A dry run's effects: each is previewed, none is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from runs import state
from runs.engine import frontier as frontiers
from runs.engine import outside, preparing, verdicts
from runs.engine.heartbeat import Heartbeat
from runs.transitions import steps
from runs.transitions.refusals import LostAuthority

log = structlog.get_logger(__name__)


def simulate(
    claim: steps.Claim, front: frontiers.Frontier, calls: tuple[state.CallState, ...], beat: Heartbeat
) -> None:
    """Close these calls with what would have been done. Refuses LostAuthority, ContractChanged and Dropped."""
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
        log.warning(
            "preview_failed", run=front.run.pk, tool=action.tool, error=f"{type(error).__name__}: {error}"
        )
        summary = f"{summary} (what would happen could not be worked out: {error})"
    about = preparing.considered(front, action, args, lambda: shown)
    verdict = verdicts.ask(policy, about, agent=front.agent.name, tool=type(tool))
    return steps.Simulated(call=call.id, summary=summary, verdict=verdict.verdict, rule=verdict.rule)
