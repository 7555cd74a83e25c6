"""The moves that a run can make, as data: what the planner decides and the engine carries out."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from runs.calls import CallState


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
class AskPlan:
    """Put the plan before a person."""


@dataclass(frozen=True, kw_only=True)
class AskHuman:
    """Put a question of the agent before a person."""

    call: CallState


@dataclass(frozen=True, kw_only=True)
class AskPins:
    """Ask a person whether the run goes on with what is installed now."""


@dataclass(frozen=True, kw_only=True)
class SettlePins:
    """Close that question: what the run started with is installed again."""


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
class TakeBack:
    """Propose the undo of this occurrence, as the plan says for the case that it fails."""

    occurrence: int
    why: str


@dataclass(frozen=True, kw_only=True)
class Fail:
    """End with a cause; a person says what next. `taken_back` are effects that don't stand any more."""

    cause: str
    detail: str = ""
    taken_back: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Finish:
    """End, all done."""

    call: CallState


Move = (
    FoldIn | CallModel | Refill | AskPlan | AskHuman | AskPins | SettlePins | Prepare | Read | Act | LookUp | Doubt
    | Later | Wait | Pause | Cancel | TakeBack | Fail | Finish
)  # fmt: skip
