"""The next move of a run: pure. State and clock in, one move out.

Calls of one reply are independent: each goes on as soon as it may, one effect at a time, ties in call order. The
provider is asked again once, when every call is closed.
"""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from runs import lifecycle, measures
from runs.moves import Act as Act
from runs.moves import AskHuman as AskHuman
from runs.moves import AskPins as AskPins
from runs.moves import AskPlan as AskPlan
from runs.moves import CallModel as CallModel
from runs.moves import Cancel as Cancel
from runs.moves import Doubt as Doubt
from runs.moves import Fail as Fail
from runs.moves import Finish as Finish
from runs.moves import FoldIn as FoldIn
from runs.moves import Later as Later
from runs.moves import LookUp as LookUp
from runs.moves import Move as Move
from runs.moves import Pause as Pause
from runs.moves import Prepare as Prepare
from runs.moves import Read as Read
from runs.moves import Refill as Refill
from runs.moves import SettlePins as SettlePins
from runs.moves import TakeBack as TakeBack
from runs.moves import Wait as Wait
from runs.state import CallId, CallState, State

CROWDED, CROWDED_LOOK = "crowded", datetime.timedelta(seconds=30)
"""As many questions are open as may be at once; the next one is opened as soon as some are answered."""
SWITCH_LOOK = datetime.timedelta(seconds=60)
"""How long a run sleeps under a switch before it looks again; lifting the switch wakes it at once."""

IDEMPOTENT, LOOKUP = "idempotent", "lookup"


class Pinned(StrEnum):
    """How what is installed compares to what the run started with."""

    SAME = "same"
    RESTORED = "restored"  # the same again, while a person is still asked
    CHANGED = "changed"  # another, and nobody was asked about this one
    ASKED = "asked"


@dataclass(frozen=True, kw_only=True)
class ToolFacts:
    """What the planner needs to know of an open call's tool."""

    protection: str
    key_window: datetime.timedelta
    hands_off: bool = False  # its effect is another run, which is waited for and never sent again


@dataclass(frozen=True, kw_only=True)
class Compensation:
    """What a failed plan takes back: the newest effect that it hasn't asked for yet, and those that stand no more."""

    next: int | None = None
    done: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Situation:
    """A run as its worker sees it at `now` (database clock)."""

    state: State
    now: datetime.datetime
    inbox: int = 0
    folded: int = 0
    stop: bool = False
    hold: bool = False
    switched_off: bool = False
    paused_tools: frozenset[str] = frozenset()
    ordered: bool = False
    pins: Pinned = Pinned.SAME
    approve_plan: bool = False
    plan_asked: bool = False
    plan_refused: str = ""
    attempts: int = 1
    poison: int = 5
    max_sends: int = 3
    tools: Mapping[str, ToolFacts] = field(default_factory=dict)
    first_sent: Mapping[CallId, datetime.datetime] = field(default_factory=dict)
    retry_at: Mapping[CallId, datetime.datetime] = field(default_factory=dict)
    blocked: frozenset[CallId] = frozenset()
    looked: frozenset[CallId] = frozenset()
    failed_step: str = ""
    compensation: Compensation | None = None  # asked for only where a step has failed
    trouble: str = ""
    unusable: str = ""  # why the model isn't asked again: its replies so far can't be used
    left: Mapping[str, int] = field(default_factory=dict)
    room: int | None = None  # so many new questions may be opened; None: it wasn't asked

    def handed(self, call: CallState) -> bool:
        """Return whether the call is work in another run's hands."""
        facts = self.tools.get(call.tool)
        return call.status == lifecycle.Action.INTENT and facts is not None and facts.hands_off

    def lacks(self, need: Mapping[str, int]) -> bool:
        """Return whether the run's advance doesn't cover `need`; what isn't limited isn't in `left`."""
        return any(self.left[measure] < amount for measure, amount in need.items() if measure in self.left)


ONE_REPLY: Mapping[str, int] = {measures.Measure.STEPS: 1, measures.Measure.SECONDS: 1}
ONE_CALL: Mapping[str, int] = {measures.Measure.CALLS: 1, measures.Measure.SECONDS: 1}
"""What must be left before the provider or a tool is called. A reply's own price is asked for with its request."""


def one_call(tool: str) -> Mapping[str, int]:
    """Return what must be left before this tool is called: one call in all, and one of its own."""
    return {**ONE_CALL, measures.of_tool(tool): 1}


def next_move(now: Situation) -> Move:
    """Return the one move that the run makes next."""
    if now.inbox > now.folded:
        return FoldIn()
    calls = now.state.open_calls()
    alarms: list[tuple[datetime.datetime, str]] = []
    for call in calls:
        if call.status == lifecycle.Action.INTENT and not now.handed(call):
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
    if now.switched_off:
        return _rest([*alarms, (now.now + SWITCH_LOOK, "switch")], "switch")
    if now.pins != Pinned.SAME:
        return _pinned(now.pins, alarms)
    if now.attempts > now.poison and not unsettled:
        if now.trouble:
            return Fail(cause=f"It failed {now.attempts - 1} times in a row at this point: {now.trouble}")
        return Fail(
            cause="The worker was lost several times in a row at this point.",
            detail=f"{now.attempts - 1} workers took this run over without getting anything done.",
        )
    in_vain = next((call for call in now.state.calls.values() if call.in_vain), None)
    if in_vain is not None and not unsettled:
        return Fail(cause=f"What had to be taken back first was not. {in_vain.said}")
    if any(call.undo for call in calls):
        return _work(now, calls, alarms)
    if now.approve_plan and now.state.plan_version and not now.state.approved_plan and not unsettled:
        if now.plan_refused:
            return Fail(cause=now.plan_refused)
        return _rest(alarms, "plan") if now.plan_asked else AskPlan()
    return _work(now, calls, alarms)


def _work(now: Situation, calls: tuple[CallState, ...], alarms: list[tuple[datetime.datetime, str]]) -> Move:
    able = _in_turn(now, calls)
    unasked = next((call for call in able if call.asks and call.review is None), None)
    if unasked is not None and now.room != 0:
        return AskHuman(call=unasked)
    held = tuple(call for call in able if call.is_effect and _to_prepare(call) and call.id not in now.blocked)
    new = tuple(call for call in held if call.status == lifecycle.Action.PROPOSED)
    if held and (now.room is None or now.room >= len(new)):
        return Prepare(calls=held)
    if held and (now.room or len(new) < len(held)):  # what was asked before is asked again whatever is open
        return Prepare(calls=tuple(call for call in held if call not in new[now.room :]))
    if held or unasked is not None:
        alarms.append((now.now + CROWDED_LOOK, CROWDED))
    paused = [call for call in able if call.tool in now.paused_tools]
    reads = tuple(call for call in able if call.is_read and call not in paused)
    due = tuple(call for call in reads if now.retry_at.get(call.id, now.now) <= now.now)
    paid = _paid_for(now, due)
    if paid:
        return Read(calls=paid)
    short = due[:1]
    alarms += [(now.retry_at[call.id], "backoff") for call in reads if call not in due]
    for call in able:
        if call.status != lifecycle.Action.APPROVED or not call.is_effect or call.id in now.blocked:
            continue
        if call in paused:
            continue
        start = _moment(call.not_before)
        if start is None or start <= now.now:
            if not now.lacks(one_call(call.tool)):
                return Act(call=call)
            short = (*short, call)
            continue
        alarms.append((start, "backoff" if call.attempts else "undo_window"))
    if short:
        return Refill(need=one_call(short[0].tool))
    if any(call.is_read or call.status == lifecycle.Action.APPROVED for call in paused):
        alarms.append((now.now + SWITCH_LOOK, "switch"))
    if alarms or any(not call.is_control or call.asks for call in calls):
        if any(call.id in now.blocked for call in calls):
            return _rest(alarms, "blocked")
        asks = any(not now.handed(call) and not (call.is_control and not call.asks) for call in calls)
        return _rest(alarms, "review" if asks else "child")
    if now.failed_step:
        return _failed(now)
    if calls:
        return Finish(call=calls[0])
    if now.unusable:
        return Fail(cause=now.unusable)
    if now.lacks(ONE_REPLY):
        return Refill(need=ONE_REPLY)
    return CallModel()


def _failed(now: Situation) -> Move:
    """A required step has failed: what the plan marks is taken back, one after the other, and then the run ends."""
    known = now.compensation or Compensation()
    if known.next is not None:
        return TakeBack(occurrence=known.next, why=now.failed_step)
    return Fail(cause=now.failed_step, taken_back=known.done)


def _paid_for(now: Situation, due: tuple[CallState, ...]) -> tuple[CallState, ...]:
    """Return those of the reads, in their order, that the run's advance covers together."""
    left, paid = Counter(now.left), []
    for call in due:
        need = {name: amount for name, amount in one_call(call.tool).items() if name in now.left}
        if all(left[name] >= amount for name, amount in need.items()):
            left.subtract({name: amount for name, amount in need.items() if name != measures.Measure.SECONDS})
            paid.append(call)
    return tuple(paid)


def was_calling(now: Situation) -> bool:
    """Return whether a worker that died here may have been calling the provider: nothing else was left to do."""
    there = replace(now, folded=now.inbox, stop=False, hold=False, attempts=0, left={}, switched_off=False,
                    pins=Pinned.SAME)  # fmt: skip
    return isinstance(next_move(there), CallModel)


def settle(now: Situation, call: CallState) -> Act | LookUp | Doubt | Later:
    """Return how to find out about an intent without a receipt, in this order: same key, look, person."""
    if now.attempts > now.poison:
        return Doubt(call=call, why="Finding out about it lost one worker after the other.")
    facts = now.tools.get(call.tool)
    horizon = max(datetime.datetime.fromisoformat(attempt.horizon) for attempt in call.attempts)
    released = not (now.stop or now.hold or now.switched_off or call.tool in now.paused_tools)
    may_send = released and len(call.attempts) < now.max_sends
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


def _pinned(pins: Pinned, alarms: list[tuple[datetime.datetime, str]]) -> Move:
    if pins == Pinned.ASKED:
        return _rest(alarms, "pins")
    return AskPins() if pins == Pinned.CHANGED else SettlePins()


def _in_turn(now: Situation, calls: tuple[CallState, ...]) -> tuple[CallState, ...]:
    """Return the calls that may go on: all, or only the first open one where the agent wants them in order.

    An undo goes before everything else: meanwhile nothing may rest on what it takes back, or be absorbed by it.
    """
    undos = tuple(call for call in calls if call.undo)
    if undos:
        return undos
    return tuple(call for call in calls if not call.is_control or call.asks)[:1] if now.ordered else calls


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
