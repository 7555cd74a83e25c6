"""What a dry run makes of an effect: a result that says what would have been done, and is marked as simulated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs import lifecycle
from runs.samples import Sample
from runs.state import CallId
from runs.transitions import words
from runs.transitions.steps import absorbing, closing
from runs.transitions.steps._statement import Claim, fenced
from runs.transitions.steps.reply import Verdict

_TERMS = ("groups", "quorum", "separation", "due_seconds", "expires_seconds", "on_expiry", "escalate")


@dataclass(frozen=True, kw_only=True)
class Simulated:
    """One effect with the sentence that says what it would do, what policy says of it, and why somebody is asked."""

    call: CallId
    summary: str
    verdict: Verdict
    why: str
    preview: Mapping[str, Any] | None


def simulate(claim: Claim, simulated: list[Simulated]) -> None:
    """Close these calls as if they had been released; what stands already is absorbed. Refuses LostAuthority."""
    with fenced(claim, "simulate") as work:
        for item in simulated:
            action, verdict = work.action(item.call), item.verdict
            if action.status != lifecycle.Action.PROPOSED or absorbing.absorbed_before(work, action):
                continue
            would = {"preview": item.preview, "why": item.why, **terms(verdict)}
            if verdict.verdict == "deny":
                work.move(action, lifecycle.Action.DENIED)
                text = verdict.words or words.denied(verdict.rule)
                closing.close_effect(
                    work,
                    action,
                    status=action.status,
                    text=text,
                    ran=False,
                    boundary=None,
                    more={"would": would},
                )
                continue
            work.move(action, lifecycle.Action.SIMULATED)
            closing.close_effect(
                work,
                action,
                status=action.status,
                text=words.simulated(item.summary, verdict.verdict),
                ran=False,
                value={
                    "simulated": True,
                    "summary": item.summary,
                    "verdict": verdict.verdict,
                    "rule": verdict.rule,
                },
                boundary=None,
                more={"would": would},
            )
        work.log.checkpoint(lifecycle.Boundary.RESULT)


def suppose(
    claim: Claim,
    call: CallId,
    *,
    step: str | None,
    question: str,
    answer: Sample | None,
    verdict: Verdict,
    seen: int,
) -> None:
    """Close a question that a dry run asks nobody: with an answer that would fit, or without one. Refuses Changed."""
    would = {"question": question, "supposed": answer is not None, **terms(verdict)}
    with fenced(claim, "suppose", seen=seen) as work:
        closing.close(
            work,
            call,
            step=step,
            status=lifecycle.Action.EXPIRED if answer is None else lifecycle.Action.SIMULATED,
            text=words.supposed(answered=answer is not None),
            ran=False,
            value=closing.MISSING if answer is None else answer.value,
            more={"would": would},
        )


def terms(verdict: Verdict) -> dict[str, Any]:
    """Return what policy says of a call, as the report of a dry run keeps it."""
    kept = {name: verdict.terms[name] for name in _TERMS if name in verdict.terms}
    return {"verdict": verdict.verdict, "rule": verdict.rule, "tier": verdict.tier, "terms": kept}
