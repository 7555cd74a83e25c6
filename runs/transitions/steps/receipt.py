"""Storing outcomes under the fence: of effects, of reads, of look-ups."""

from __future__ import annotations

from typing import Any

from runs import lifecycle
from runs.state import CallId
from runs.transitions import clock_time, texts
from runs.transitions.refusals import Changed
from runs.transitions.steps import closing, settle
from runs.transitions.steps._statement import Claim, Work, fenced


def happened(
    claim: Claim, call: CallId, *, attempt: int, receipt: dict[str, Any], source: str = "run"
) -> None:
    """Store the receipt of an attempt that happened. Needs the fence only; refuses LostAuthority."""
    with fenced(claim, "happened") as work:
        action = _in_flight(work, call)
        settle.happened(
            work, action, attempt=attempt, receipt=receipt, source=source, text=str(receipt["summary"])
        )


def did_not_happen(
    claim: Claim,
    call: CallId,
    *,
    attempt: int,
    reason: str,
    again: bool,
    wake_after: float = 0.0,
    source: str = "run",
    key_used: bool = False,
) -> None:
    """Store the proof that an attempt had no effect; `again` lets it be sent once more.

    That is under the same key, unless the provider keeps the failure under it (`key_used`).
    """
    with fenced(claim, "did_not_happen") as work:
        action = _in_flight(work, call)
        settle.did_not_happen(
            work,
            action,
            attempt=attempt,
            reason=reason,
            source=source,
            again=lifecycle.Action.APPROVED if again else None,
            key_used=key_used,
        )
        if action.status == lifecycle.Action.APPROVED and wake_after:
            work.run.error = texts.storable(reason)  # said on the run's page until something gets done
            action.not_before = work.now + clock_time.seconds(wake_after)
            action.save(update_fields=["not_before"])
            work.log.append(
                lifecycle.EntryKind.DECISION,
                {"call": list(call), "verdict": "back_off", "not_before": action.not_before.isoformat()},
            )


def unknown(claim: Claim, call: CallId, *, attempt: int, reason: str) -> None:
    """Store that an attempt ended without an answer."""
    with fenced(claim, "unknown") as work:
        settle.unknown(work, _in_flight(work, call), attempt=attempt, reason=reason)


def doubt(claim: Claim, call: CallId, *, why: str, seen: int) -> None:
    """Ask a person whether an effect happened. Refuses LostAuthority, and Changed when evidence may have come."""
    with fenced(claim, "doubt", seen=seen) as work:
        settle.doubt(work, _in_flight(work, call), why=why)


def read(claim: Claim, call: CallId, *, tool: str, step: str | None, summary: str, value: Any) -> None:
    """Store the result of a read and its checkpoint."""
    with fenced(claim, "read") as work:
        closing.close_read(work, call, tool=tool, step=step, summary=summary, value=value)


def read_failed(
    claim: Claim, call: CallId, *, tool: str, step: str | None, reason: str, final: bool, retry_at: str | None
) -> None:
    """Store that a read failed: to be tried again at `retry_at`, or for good."""
    with fenced(claim, "read_failed") as work:
        content = {"call": list(call), "attempt": 0, "outcome": "failed", "source": "run", "reason": reason,
                   "retry_at": retry_at}  # fmt: skip
        work.log.append(lifecycle.EntryKind.RECEIPT, content)
        if final:
            closing.close(
                work,
                call,
                step=step,
                status=lifecycle.Action.FAILED,
                text=f"Failed: {reason}",
                ran=True,
                tool=tool,
            )
        else:
            work.run.error = texts.storable(reason)


def _in_flight(work: Work, call: CallId) -> Any:
    action = work.action(call)
    if action.status != lifecycle.Action.INTENT:
        raise Changed(f"action {action.pk} is {action.status}")
    return action
