"""The state of a run as frozen data, and the fold that rebuilds it from the log.

Each log entry that moves a call names it by (reply position, call index) and carries the status that the call has
afterwards, so that the fold stays trivial and can check every move against the table of moves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, NamedTuple, Protocol, TypeVar

from runs import lifecycle
from runs.calls import Attempt as Attempt
from runs.calls import CallId as CallId
from runs.calls import CallState as CallState
from runs.calls import moved
from runs.frozen import Own, put, replace


class Line(Protocol):
    """One line of the log, stored or about to be."""

    @property
    def position(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def content(self) -> Mapping[str, Any]: ...


Told = TypeVar("Told", bound=Line)


class Entry(NamedTuple):
    """One line of the log, as data."""

    position: int
    kind: str
    content: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class PlanStep:
    """One step of the current plan. `body` is its definition; the engine reads `tool`, `group` and `required` only."""

    id: str
    title: str
    body: Mapping[str, Any]
    state: str = lifecycle.Step.PENDING

    @property
    def group(self) -> str:
        """Loop step that this row was expanded from, or empty."""
        return str(self.body.get("group", ""))

    @property
    def required(self) -> bool:
        """Return whether the run fails when this step fails."""
        return bool(self.body.get("required", True))


@dataclass(frozen=True, kw_only=True)
class Counters:
    """What a run has used. Costs in millionths of a US dollar; `cost_known` is False once one price was unknown."""

    steps: int = 0
    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_micro: int = 0
    cost_known: bool = True

    def paid(
        self, usage: Mapping[str, Any], instead: Mapping[str, Any] | None = None, *, steps: int = 0
    ) -> Counters:
        """Return the counters with a model call's usage added, less the one that it replaces."""
        old: Mapping[str, Any] = instead or {"tokens_in": 0, "tokens_out": 0, "cost_micro": 0}
        cost = usage["cost_micro"]
        return replace(
            self,
            steps=self.steps + steps,
            tokens_in=self.tokens_in + usage["tokens_in"] - old["tokens_in"],
            tokens_out=self.tokens_out + usage["tokens_out"] - old["tokens_out"],
            cost_micro=self.cost_micro + (cost or 0) - (old["cost_micro"] or 0),
            cost_known=self.cost_known and cost is not None,
        )

    def as_json(self) -> dict[str, Any]:
        """Return the counters as the JSON that a checkpoint keeps."""
        return asdict(self)


@dataclass(frozen=True, kw_only=True)
class State:
    """What a run is at one position of its log."""

    position: int = 0
    input: Mapping[str, Any] = field(default_factory=dict)
    pins: str | None = None
    plan_version: int = 0
    approved_plan: int = 0
    plan: tuple[PlanStep, ...] = ()
    calls: Mapping[CallId, CallState] = field(default_factory=dict)
    results: Mapping[str, Any] = field(default_factory=dict)
    counters: Counters = field(default_factory=Counters)
    ended: str | None = None

    def open_calls(self) -> tuple[CallState, ...]:
        """Return the calls without a closing entry, in call order."""
        return tuple(call for _, call in sorted(self.calls.items()) if not call.closed)


class Broken(ValueError):
    """The log can't be folded: the message names the position and the rule."""


def fold(entries: Iterable[Line], start: State | None = None) -> State:
    """Return the state after `entries`; refuse (Broken) an entry that the rules don't allow."""
    current = begun = start or State()
    position = begun.position
    for entry, current in walk(entries, begun):  # noqa: B007 the last one is what is wanted
        position = entry.position
    return replace(current, calls=dict(current.calls), results=dict(current.results), position=position)


def walk(entries: Iterable[Told], start: State | None = None) -> Iterator[tuple[Told, State]]:
    """Yield each line with the state after it, which is good until the next one: calls and results change in place.

    Its `position` is that of the start. Refuses (Broken) an entry that the rules don't allow.
    """
    begun = start or State()
    current = replace(begun, calls=Own(begun.calls), results=Own(begun.results))
    for entry in entries:
        try:
            current = _apply(current, entry)
        except (KeyError, TypeError, ValueError, lifecycle.NotAllowed) as error:
            raise Broken(f"position {entry.position} ({entry.kind}): {error}") from error
        yield entry, current


def _apply(state: State, entry: Line) -> State:
    apply = _LINES.get(entry.kind)
    if apply is not None:
        return apply(state, entry)
    return _call(state, entry) if "call" in entry.content else state


def _input(state: State, entry: Line) -> State:
    content = entry.content
    return replace(state, input=content["input"], pins=content.get("pins", state.pins))


def _decision(state: State, entry: Line) -> State:
    content = entry.content
    if "plan" in content:
        return replace(state, approved_plan=content["plan"])
    return _call(state, entry) if "call" in content else state


def _note(state: State, entry: Line) -> State:
    content = entry.content
    if "pins" in content or content.get("reopened"):
        ended = None if content.get("reopened") else state.ended
        approved = 0 if "from" in content else state.approved_plan  # a new attempt takes no approval over
        return replace(state, ended=ended, approved_plan=approved, pins=content.get("pins", state.pins))
    if "usage" in content:  # a lost call: estimated, or known late
        return replace(state, counters=state.counters.paid(content["usage"], content.get("instead")))
    return _call(state, entry) if "call" in content else state


def _reply(state: State, entry: Line) -> State:
    counters = state.counters.paid(entry.content["usage"], steps=1)
    calls = state.calls
    for index, call in enumerate(entry.content["calls"]):
        calls = put(calls, (entry.position, index), _proposed((entry.position, index), call))
    active = {call["step"] for call in entry.content["calls"] if call["step"] is not None}
    return replace(state, counters=counters, calls=calls, plan=_active(state.plan, active))


def _summary(state: State, entry: Line) -> State:
    return replace(state, counters=state.counters.paid(entry.content["usage"]))


def _reopened(state: State, entry: Line) -> State:
    """Return the state with a call that no reply of this run proposed: open at the cut, or asked for by a person.

    What was said of it before the cut doesn't count.
    """
    content = entry.content
    call_id: CallId = (content["call"][0], content["call"][1])
    known = state.calls.get(call_id)
    if known is not None and known.closed:
        raise ValueError("a closed call can't be opened again")
    calls = put(state.calls, call_id, _proposed(call_id, content))
    if "instead" in content:  # of one that had to succeed first and did not: this one has to, now
        old: CallId = (content["instead"][0], content["instead"][1])
        calls = put(calls, old, replace(state.calls[old], first=False))
    return replace(state, calls=calls, plan=_active(state.plan, {content["step"]}))


_NEW = CallState(id=(0, 0), tool="", effect="", tier=0, step=None, digest="")


def _proposed(call_id: CallId, content: Mapping[str, Any]) -> CallState:
    return replace(
        _NEW,
        id=call_id,
        tool=content["tool"],
        effect=content["effect"],
        tier=content["tier"],
        step=content["step"],
        digest=content["digest"],
        undo="undo_of" in content,
        first=bool(content.get("first")),
        **_judged(content),
    )


def _active(plan: tuple[PlanStep, ...], ids: set[Any]) -> tuple[PlanStep, ...]:
    return tuple(replace(step, state=lifecycle.Step.ACTIVE) if step.id in ids else step for step in plan)


_JUDGED: dict[str, str] = {"allow": lifecycle.Action.APPROVED, "deny": lifecycle.Action.DENIED}


def _judged(call: Mapping[str, Any]) -> dict[str, Any]:
    """Return what policy's word on a call, where it came with the reply, makes of it; a review is opened later."""
    verdict = call.get("verdict")
    if verdict not in _JUDGED:
        return {}
    lifecycle.check(lifecycle.ACTION_MOVES, lifecycle.Action.PROPOSED, _JUDGED[verdict], by="E")
    return {"verdict": verdict, "status": _JUDGED[verdict]}


def value_of(content: Mapping[str, Any]) -> Any:
    """Return the value that the result in this entry gives to later steps; None where it gives none."""
    receipt = content.get("receipt")
    return content.get("value") if receipt is None else receipt.get("value")


def _plan(state: State, entry: Line) -> State:
    """Return the state under a new plan version: whole, or with the step `replace` exchanged for the new steps."""
    content = entry.content
    known = {step.id: step.state for step in state.plan}
    new = tuple(
        PlanStep(
            id=raw["id"],
            title=raw["title"],
            body=raw["body"],
            state=known.get(raw["id"], lifecycle.Step.PENDING),
        )
        for raw in content["steps"]
    )
    old = content.get("replace")
    if old is not None:
        at = [step.id for step in state.plan].index(old)
        new = (*state.plan[:at], *new, *state.plan[at + 1 :])
    return replace(state, plan=new, plan_version=content["version"])


def _mark(state: State, step_id: str, value: str) -> State:
    steps = tuple(replace(step, state=value) if step.id == step_id else step for step in state.plan)
    return replace(state, plan=steps)


def _call(state: State, entry: Line) -> State:
    """Return the state after a line about one call."""
    content = entry.content
    position, index = content["call"]
    call = state.calls[position, index]
    calls = put(state.calls, call.id, moved(call, entry.kind, content))
    if entry.kind == lifecycle.EntryKind.RESULT:
        state = _closed(state, call, content)
    return state if calls is state.calls else replace(state, calls=calls)


def _closed(state: State, call: CallState, content: Mapping[str, Any]) -> State:
    """Return the state with what a call's result says of anything but the call."""
    if content.get("ran"):
        state = replace(state, counters=replace(state.counters, calls=state.counters.calls + 1))
    if call.step is not None and ("value" in content or "receipt" in content):
        state = replace(state, results=put(state.results, call.step, value_of(content)))
    return _mark(state, content["step"], content["step_state"]) if "step_state" in content else state


_LINES: dict[str, Callable[[State, Line], State]] = {
    lifecycle.EntryKind.INPUT: _input,
    lifecycle.EntryKind.CORRECTION: _input,
    lifecycle.EntryKind.REPLY: _reply,
    lifecycle.EntryKind.SUMMARY: _summary,
    lifecycle.EntryKind.CALL: _reopened,
    lifecycle.EntryKind.PLAN: _plan,
    lifecycle.EntryKind.MARK: lambda state, line: _mark(state, line.content["step"], line.content["state"]),
    lifecycle.EntryKind.DECISION: _decision,
    lifecycle.EntryKind.END: lambda state, line: replace(state, ended=line.content["status"]),
    lifecycle.EntryKind.NOTE: _note,
}
"""What becomes of the state, by the kind of line; every other kind is about one call."""
