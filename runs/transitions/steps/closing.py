"""Closing a call in the log: the result entry, the plan step and the counters move together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import lifecycle, models
from runs.state import CallId
from runs.transitions import changes, log
from runs.transitions.steps import advances
from runs.transitions.steps._statement import Work

MISSING = object()

STEP_AFTER: dict[str, str] = {
    lifecycle.Action.SUCCEEDED: lifecycle.Step.DONE,
    lifecycle.Action.ABSORBED: lifecycle.Step.DONE,
    lifecycle.Action.SIMULATED: lifecycle.Step.DONE,
    lifecycle.Action.FAILED: lifecycle.Step.FAILED,
    lifecycle.Action.DENIED: lifecycle.Step.REFUSED,
    lifecycle.Action.REJECTED: lifecycle.Step.REFUSED,
    lifecycle.Action.EXPIRED: lifecycle.Step.REFUSED,
    lifecycle.Action.ABANDONED: lifecycle.Step.REFUSED,
    lifecycle.Action.SUPERSEDED: lifecycle.Step.REFUSED,
}
"""What becomes of a plan step when its call is closed with a status."""


def close(
    work: Work,
    call: CallId,
    *,
    step: str | None,
    status: str,
    text: str,
    ran: bool,
    tool: str = "",
    value: Any = MISSING,
    boundary: str | None = lifecycle.Boundary.RESULT,
    step_state: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> log.Line:
    """Return the result entry that closes `call` in words the model can use; `ran` counts it as a tool call."""
    content: dict[str, Any] = {"call": list(call), "status": status, "text": text, "ran": ran, **(more or {})}
    if value is not MISSING:
        content["value"] = value
    step_state = step_state or STEP_AFTER[status]
    if step:
        content |= {"step": step, "step_state": step_state}
    if ran:
        advances.count_call(work.run, tool)
    entry = work.log.append(lifecycle.EntryKind.RESULT, content, boundary=boundary)
    if step:
        work.step(step, state=step_state, result_position=entry.position)
    work.progressed()
    return entry


def close_read(work: Work, call: CallId, *, tool: str, step: str | None, summary: str, value: Any) -> None:
    """Write the result of a read and its checkpoint."""
    close(
        work,
        call,
        step=step,
        status=lifecycle.Action.SUCCEEDED,
        text=summary,
        ran=True,
        tool=tool,
        value=value,
    )


def close_effect(
    work: Work,
    action: models.Action,
    *,
    status: str,
    text: str,
    ran: bool,
    value: Any = MISSING,
    boundary: str | None = lifecycle.Boundary.RESULT,
    step_state: str | None = None,
    more: Mapping[str, Any] | None = None,
) -> log.Line:
    """Return the result entry that closes the call of an action whose row already carries `status`.

    What people changed in it is said too.
    """
    text = f"{text} {changes.told(action)}".rstrip()
    call = (action.reply_position, action.call_index)
    step = action.step or None
    return close(
        work, call, step=step, status=status, text=text, ran=ran, tool=action.tool, value=value,
        boundary=boundary, step_state=step_state, more=more,
    )  # fmt: skip
