"""What the page to go on from a checkpoint shows."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field

from runs.selectors import page_models, plan_models, run_models


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One checkpoint to go on from."""

    number: int
    words: str
    at: datetime.datetime
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class Advice:
    """A checkpoint that is likely meant, and why."""

    number: int
    words: str
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class Left:
    """An effect after the checkpoint: it stays done, unless it may happen once more."""

    occurrence_id: int
    what: str
    state: str
    at: datetime.datetime
    run_id: int
    settled: bool  # it is known to stand; else nothing can be chosen
    choices: tuple[tuple[str, str], ...]  # value and words of what may become of it
    chosen: str
    review_id: int | None = None  # where it is found out whether it happened


@dataclass(frozen=True, kw_only=True)
class OpenCall:
    """A call that is open at the checkpoint: it is proposed again, with other arguments if somebody writes them."""

    name: str  # of the form's field with all arguments as JSON
    title: str
    tool: str
    text: str  # as typed
    shown: str  # as it stands
    failed: bool  # it is the one that failed later
    fields: tuple[plan_models.Input, ...] = ()  # one for each argument that is a text, as typed

    @property
    def changed(self) -> bool:
        """Return whether the JSON was typed otherwise."""
        return self.text.replace("\r\n", "\n").strip() != self.shown.strip()


@dataclass(frozen=True, kw_only=True)
class Ahead:
    """One step of the plan, and what becomes of it."""

    number: int
    title: str
    word: str  # skipped, kept, again or left out
    words: str
    tier: int | None


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """What runs again, what doesn't, and what it costs."""

    steps: tuple[Ahead, ...]
    more: int  # further steps that are not listed
    summary: str
    cost: str


@dataclass(frozen=True, kw_only=True)
class Raise:
    """A limit of the lineage, and by how much it is raised."""

    name: str
    label: str
    sentence: str
    value: str


@dataclass(frozen=True, kw_only=True)
class RedrivePage:
    run_id: int
    title: str
    current_id: int  # the attempt whose place is taken
    goes_on: bool  # that attempt hasn't ended, so it is stopped
    choices: tuple[Choice, ...]
    chosen: int
    fields: tuple[page_models.InputField, ...]
    keeps: tuple[str, ...]  # steps before the checkpoint whose results keep the old input
    left: tuple[Left, ...]
    reason: str
    token: str
    errors: dict[str, str] = field(default_factory=dict)
    why: str = ""  # it failed
    where: str = ""  # the step that failed
    advice: tuple[Advice, ...] = ()
    calls: tuple[OpenCall, ...] = ()
    forecast: Forecast | None = None
    raises: tuple[Raise, ...] = ()
    instructions: str | None = None  # None: no model reads any
    old_instructions: str = ""
    planned: bool = False  # there is a plan at the checkpoint that can be changed first
    hold: bool = False
    unsettled: bool = False  # something has to be found out before anything starts
    retry: run_models.Retry | None = None
