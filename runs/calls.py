"""One call of a reply as data: what was proposed, what was released, each send, and what has come of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from runs import lifecycle
from runs.frozen import replace

CallId = tuple[int, int]

ASK = "ask_human"
"""The control call that asks a person; the only one that waits for anybody."""


@dataclass(frozen=True, kw_only=True)
class Attempt:
    """One send of an effect. `outcome` is None until known: happened, did_not_happen or unknown."""

    number: int
    fence: int
    deadline: str
    horizon: str
    outcome: str | None = None


@dataclass(frozen=True, kw_only=True)
class CallState:
    """One call of a reply and what has come of it."""

    id: CallId
    tool: str
    effect: str
    tier: int
    step: str | None
    digest: str
    status: str = lifecycle.Action.PROPOSED
    verdict: str | None = None
    review: int | None = None
    not_before: str | None = None
    attempts: tuple[Attempt, ...] = ()
    failures: int = 0
    revision: int = 1
    closed: bool = False
    undo: bool = False  # takes back an effect: a person asked for it, no reply
    first: bool = False  # nothing else is begun before this has succeeded
    said: str = ""  # what closed a `first` one

    @property
    def is_control(self) -> bool:
        """Return whether this is a control call (plan, finish, a question), which has no action row."""
        return self.effect == "control"

    @property
    def asks(self) -> bool:
        """Return whether this call is a question to a person."""
        return self.is_control and self.tool == ASK

    @property
    def is_read(self) -> bool:
        """Return whether this call changes nothing outside."""
        return self.effect == "read"

    @property
    def is_effect(self) -> bool:
        """Return whether this call changes the world and so has an action row."""
        return not self.is_control and not self.is_read

    @property
    def unsettled(self) -> bool:
        """Return whether the world may hold this effect, and may not."""
        return self.status in lifecycle.ACTION_UNSETTLED

    @property
    def in_vain(self) -> bool:
        """Return whether this had to succeed before anything else, and did not."""
        done = (lifecycle.Action.SUCCEEDED, lifecycle.Action.ABSORBED, lifecycle.Action.SIMULATED)
        return self.first and self.closed and self.status not in done


def moved(call: CallState, kind: str, content: Mapping[str, Any]) -> CallState:
    """Return the call after a line of this kind about it; refuse (NotAllowed) a move that isn't in the table."""
    status = content.get("status", call.status)
    if status != call.status and call.is_effect:
        lifecycle.check(lifecycle.ACTION_MOVES, call.status, status, by="E")
    change = _CHANGES.get(kind)
    changed = {} if change is None else change(call, content)
    return replace(call, **{**changed, "status": status})


Changed = dict[str, Any]


def _revision(_call: CallState, content: Mapping[str, Any]) -> Changed:
    return {"revision": content["number"], "digest": content["digest"], "review": None}


def _verdict(_call: CallState, content: Mapping[str, Any]) -> Changed:
    return {"verdict": content["verdict"], "review": content.get("review"), "not_before": None}


def _decided(call: CallState, content: Mapping[str, Any]) -> Changed:
    held = content.get("status", call.status) == lifecycle.Action.HELD
    return {"not_before": content.get("not_before")} | ({"review": None} if held else {})


def _intent(call: CallState, content: Mapping[str, Any]) -> Changed:
    attempt = Attempt(
        number=content["attempt"],
        fence=content["fence"],
        deadline=content["deadline"],
        horizon=content["horizon"],
    )
    return {"attempts": (*call.attempts, attempt), "not_before": None}


def _receipt(call: CallState, content: Mapping[str, Any]) -> Changed:
    if call.is_read:
        return {"failures": call.failures + 1}
    return {"attempts": _settled(call.attempts, content), "review": content.get("review", call.review)}


def _result(call: CallState, content: Mapping[str, Any]) -> Changed:
    found: Changed = {"closed": True}
    if call.first:
        found["said"] = content["text"]
    if "attempt" in content:
        found["attempts"] = _settled(call.attempts, content)
    return found


_CHANGES: dict[str, Callable[[CallState, Mapping[str, Any]], Changed]] = {
    lifecycle.EntryKind.REVISION: _revision,
    lifecycle.EntryKind.VERDICT: _verdict,
    lifecycle.EntryKind.DECISION: _decided,
    lifecycle.EntryKind.INTENT: _intent,
    lifecycle.EntryKind.RECEIPT: _receipt,
    lifecycle.EntryKind.RESULT: _result,
}
"""What becomes of the call, by the kind of line; its status stands in the line itself."""


def _settled(sends: tuple[Attempt, ...], content: Mapping[str, Any]) -> tuple[Attempt, ...]:
    """Return the attempts with the outcome of one of them noted; a receipt for `all` settles every open one."""
    number = content["attempt"]
    return tuple(
        [
            replace(attempt, outcome=content["outcome"])
            if attempt.number == number or (number == 0 and attempt.outcome in (None, "unknown"))
            else attempt
            for attempt in sends
        ]
    )
