"""The next move of a run: pure. State and clock in, one move out.

Calls of one reply are independent: each goes on as soon as it may, one effect at a time, ties in call order. The
provider is asked again once, when every call is closed.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from runs import lifecycle, measures
from runs.state import CallId, CallState, State

IDEMPOTENT, LOOKUP = "idempotent", "lookup"


@dataclass(frozen=True, kw_only=True)
class ToolFacts:
    """What the planner needs to know of an open call's tool."""

    protection: str
    key_window: datetime.timedelta


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A run as its worker sees it at `now` (database clock)."""

    state: State
    now: datetime.datetime
    inbox: int = 0
    folded: int = 0
    stop: bool = False
    hold: bool = False
    attempts: int = 1
    poison: int = 5
    max_sends: int = 3
    tools: Mapping[str, ToolFacts] = field(default_factory=dict)
    first_sent: Mapping[CallId, datetime.datetime] = field(default_factory=dict)
    retry_at: Mapping[CallId, datetime.datetime] = field(default_factory=dict)
    blocked: frozenset[CallId] = frozenset()
    looked: frozenset[CallId] = frozenset()
    failed_step: str = ""
    trouble: str = ""
    left: Mapping[str, int] = field(default_factory=dict)

    def lacks(self, need: Mapping[str, int]) -> bool:
        """Return whether the run's advance doesn't cover `need`; what isn't limited isn't in `left`."""
        return any(self.left[measure] < amount for measure, amount in need.items() if measure in self.left)


@dataclass(frozen=True, kw_only=True)
class FoldIn:
    """Read the inbox."""


@dataclass(frozen=True, kw_only=True)
class CallModel:
    """Ask the provider for the next reply."""


@dataclass(frozen=True, kw_only=True)
class Refill:
    """Take a further advance that covers this; if there is none left, ask for more."""

    need: Mapping[str, int]


@dataclass(frozen=True, kw_only=True)
class Prepare:
    """Preview these actions and put them before a person."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, kw_only=True)
class Read:
    """Run these reads."""

    calls: tuple[CallState, ...]


@dataclass(frozen=True, kw_only=True)
class Act:
    """Pass the gate and carry out this effect; `resend` under the key it already has."""

    call: CallState
    resend: bool = False


@dataclass(frozen=True, kw_only=True)
class LookUp:
    """Ask the world about an unknown outcome; absence counts only when `absence_counts`."""

    call: CallState
    absence_counts: bool
    may_send: bool


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """Ask a person about an unknown outcome."""

    call: CallState
    why: str


@dataclass(frozen=True, kw_only=True)
class Later:
    """Rest until `at`."""

    at: datetime.datetime
    reason: str


@dataclass(frozen=True, kw_only=True)
class Wait:
    """Rest until a fact arrives."""

    reason: str


@dataclass(frozen=True, kw_only=True)
class Pause:
    """Rest under the hold."""


@dataclass(frozen=True, kw_only=True)
class Cancel:
    """End, because a person stopped it."""


@dataclass(frozen=True, kw_only=True)
class Fail:
    """End with a cause; a person says what next."""

    cause: str
    detail: str = ""


@dataclass(frozen=True, kw_only=True)
class Finish:
    """End, all done."""

    call: CallState


Move = (
    FoldIn | CallModel | Refill | Prepare | Read | Act | LookUp | Doubt | Later | Wait | Pause | Cancel | Fail | Finish
)  # fmt: skip

ONE_REPLY: Mapping[str, int] = {measures.Measure.STEPS: 1, measures.Measure.SECONDS: 1}
ONE_CALL: Mapping[str, int] = {measures.Measure.CALLS: 1, measures.Measure.SECONDS: 1}
"""What must be left before the provider or a tool is called. A reply's own price is asked for with its request."""


def next_move(now: Situation) -> Move:
    """Return the one move that the run makes next."""
    if now.inbox > now.folded:
        return FoldIn()
    calls = now.state.open_calls()
    alarms: list[tuple[datetime.datetime, str]] = []
    for call in calls:
        if call.status == lifecycle.Action.INTENT:
            found = settle(now, call)
            if isinstance(found, Later):
                alarms.append((found.at, found.reason))
            else:
                return found
    unsettled = any(call.unsettled for call in calls)
    if now.stop:
        return _rest(alarms, "stop_unsettled") if unsettled else Cancel()
    if now.hold:
        return Pause()
    if now.attempts > now.poison and not unsettled:
        if now.trouble:
            return Fail(cause=f"It failed {now.attempts - 1} times in a row at this point: {now.trouble}")
        return Fail(
            cause="The worker was lost several times in a row at this point.",
            detail=f"{now.attempts - 1} workers took this run over without getting anything done.",
        )
    return _work(now, calls, alarms)


def _work(now: Situation, calls: tuple[CallState, ...], alarms: list[tuple[datetime.datetime, str]]) -> Move:
    held = tuple(call for call in calls if call.is_effect and _to_prepare(call))
    if held:
        return Prepare(calls=held)
    reads = tuple(call for call in calls if call.is_read)
    due = tuple(call for call in reads if now.retry_at.get(call.id, now.now) <= now.now)
    if due and now.lacks(ONE_CALL):
        return Refill(need=ONE_CALL)
    if due:
        return Read(calls=due[: now.left.get(measures.Measure.CALLS)])
    alarms += [(now.retry_at[call.id], "backoff") for call in reads]
    for call in calls:
        if call.status != lifecycle.Action.APPROVED or not call.is_effect or call.id in now.blocked:
            continue
        start = _moment(call.not_before)
        if start is None or start <= now.now:
            return Refill(need=ONE_CALL) if now.lacks(ONE_CALL) else Act(call=call)
        alarms.append((start, "undo_window"))
    if alarms or any(not call.is_control for call in calls):
        blocked = any(call.id in now.blocked for call in calls)
        return _rest(alarms, "blocked" if blocked else "review")
    if now.failed_step:
        return Fail(cause=now.failed_step)
    if calls:
        return Finish(call=calls[0])
    if now.lacks(ONE_REPLY):
        return Refill(need=ONE_REPLY)
    return CallModel()


def was_calling(now: Situation) -> bool:
    """Return whether a worker that died here may have been calling the provider: nothing else was left to do."""
    there = replace(now, folded=now.inbox, stop=False, hold=False, attempts=0, left={})
    return isinstance(next_move(there), CallModel)


def settle(now: Situation, call: CallState) -> Act | LookUp | Doubt | Later:
    """Return how to find out about an intent without a receipt, in this order: same key, look, person."""
    if now.attempts > now.poison:
        return Doubt(call=call, why="Finding out about it lost one worker after the other.")
    facts = now.tools.get(call.tool)
    horizon = max(datetime.datetime.fromisoformat(attempt.horizon) for attempt in call.attempts)
    may_send = not now.stop and len(call.attempts) < now.max_sends
    if facts is not None and facts.protection == IDEMPOTENT and may_send:
        first = now.first_sent.get(call.id)
        if first is not None and now.now < first + facts.key_window * 0.9:
            return Act(call=call, resend=True)
    if facts is not None and facts.protection == LOOKUP:
        if now.now >= horizon:
            return LookUp(call=call, absence_counts=True, may_send=may_send)
        if call.id not in now.looked:
            return LookUp(call=call, absence_counts=False, may_send=may_send)
        return Later(at=horizon, reason="horizon")
    return Doubt(call=call, why="The request was sent, and no answer was stored.")


def _to_prepare(call: CallState) -> bool:
    if call.status == lifecycle.Action.PROPOSED:
        return True
    return call.status == lifecycle.Action.HELD and call.review is None


def _rest(alarms: list[tuple[datetime.datetime, str]], reason: str) -> Move:
    if alarms:
        at, why = min(alarms)
        return Later(at=at, reason=why)
    return Wait(reason=reason)


def _moment(text: Any) -> datetime.datetime | None:
    return None if text is None else datetime.datetime.fromisoformat(text)
