"""What a dry run makes of an effect: a result that says what would have been done, and is marked as simulated."""

from __future__ import annotations

from dataclasses import dataclass

from runs import lifecycle
from runs.state import CallId
from runs.transitions import words
from runs.transitions.steps import absorbing, closing
from runs.transitions.steps._statement import Claim, fenced


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """One effect with the sentence that says what it would do, and what policy says of it."""

    call: CallId
    summary: str
    verdict: str
    rule: str


def simulate(claim: Claim, simulated: list[Simulated]) -> None:
    """Close these calls with simulated results; what stands already is absorbed. Refuses LostAuthority."""
    with fenced(claim, "simulate") as work:
        for item in simulated:
            action = work.action(item.call)
            if action.status != lifecycle.Action.PROPOSED or absorbing.absorbed_before(work, action):
                continue
            work.move(action, lifecycle.Action.SIMULATED)
            closing.close_effect(
                work,
                action,
                status=action.status,
                text=words.simulated(item.summary, item.verdict),
                ran=False,
                value={
                    "simulated": True,
                    "summary": item.summary,
                    "verdict": item.verdict,
                    "rule": item.rule,
                },
                boundary=None,
            )
        work.log.checkpoint(lifecycle.Boundary.RESULT)
