"""What a provider does: one request in, one reply out. No loop, no retries, no effects.

Every provider may make the control calls in CONTROL besides tool calls. `plan` comes in four forms:

- {"steps": [...], "reason": "..."} replaces all pending steps;
- {"steps": [...], "replace": "<id>", "reason": "..."} puts them in the place of that one (none removes it);
- {"skip": "<id>", "reason": "..."} marks it skipped.

- {"done": ["<id>", ...]} marks these done, which no call of a tool does.

Each step is {"id", "title", "body"}. `finish` ends the run: {"summary": "...", "result": ...}. `ask_human` asks a
person: {"question": "...", "schema": {...}, "to": "a group"}; its result is a value that fits the JSON Schema (a text
where there is none), or words why there is no answer.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from runs import state
from runs.calls import ASK as ASK
from runs.providers.prompts import Prompt

PLAN = "plan"
FINISH = "finish"
CONTROL = frozenset({PLAN, FINISH, ASK})


@dataclass(frozen=True, kw_only=True)
class Call:
    """One proposed call. `step` names the plan step that it carries out, `label` is the provider's own id.

    `malformed` is one sentence where the provider could make no call of it: then it is refused with that.
    """

    tool: str
    arguments: Any
    step: str | None = None
    label: str = ""
    malformed: str = ""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What the reply cost. `cost_micro`: millionths of a US dollar; None, never 0, when unknown."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost_micro: int | None = 0


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the model, or the playbook, said.

    `flaw` says what is wrong with the whole of it, where something is; `details` is kept with it in the log, under
    names of OpenTelemetry's conventions for generative AI.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = field(default_factory=Usage)
    flaw: Flaw | None = None
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Flaw:
    """Why a reply can't be used as it is. `words` tell the model; a `final` one is told to people instead."""

    cause: str
    words: str
    final: bool = False


@dataclass(frozen=True, kw_only=True)
class AgentSpec:
    """The pinned agent version as plain data."""

    name: str
    number: int
    provider: str
    model: str
    instructions: str
    tools: tuple[str, ...]
    definition: Mapping[str, Any]
    ordered: bool = False
    approve_plan: bool = False


def no_secret(name: str) -> str:
    """Refuse: there is none for this request."""
    raise ProviderError(f"The secret {name!r} can't be had here.")


@dataclass(frozen=True, kw_only=True)
class Request:
    """All that the next reply may depend on.

    `plan` holds the current plan's steps that aren't closed, in order (a window; the first steps come first).
    `planned` is False until the run has a plan. `results` maps the names that `Provider.references` asked
    for: a step id to the value of its result (None if it has none), a group id to {"rows": [{"id", "title",
    "state", "result"}], "total": n, "done": n, "refused": n, "failed": n, "skipped": n,
    "kept": n, "simulated": n}; what stood already and what a dry run tried out are among the done.
    `replies` counts the replies that the run has stored so far. `prompt` is what a model is sent, for providers that
    ask one. `secret` gives the value of a secret that the agent may use for its model; it may raise ProviderError.
    """

    agent: AgentSpec
    input: Mapping[str, Any]
    planned: bool
    plan: tuple[state.PlanStep, ...]
    results: Mapping[str, Any]
    replies: int = 0
    prompt: Prompt | None = None
    secret: Callable[[str], str] = field(default=no_secret, repr=False, compare=False)


class ProviderError(RuntimeError):
    """The provider can't answer. The message is one sentence; `retryable` says whether waiting may help.

    `retry_after` are the seconds that it asked to wait, if it did. `maybe_paid`: the request was sent, and may be
    charged for although no answer came.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        maybe_paid: bool = False,
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.maybe_paid = maybe_paid


class Provider(Protocol):
    """One small object per provider, without state of its own."""

    name: str
    local: bool
    """Whether it answers from what is here, at once: then it needs no thread that can be given up."""
    prompted: bool
    """Whether it asks a model, and so has to be given a prompt made from the run's log."""

    def references(self, agent: AgentSpec, plan: tuple[state.PlanStep, ...]) -> frozenset[str]:
        """Return the step and group ids whose results the next reply needs, given the plan's open window."""
        ...

    def check(self, definition: Mapping[str, Any], tools: tuple[str, ...]) -> None:
        """Refuse (ValueError, one sentence) an agent definition that this provider can't run."""
        ...

    def estimate(self, request: Request) -> Usage:
        """Return the most that this request can cost: its own tokens and the output limit."""
        ...

    def complete(self, request: Request, *, timeout: float) -> Reply:
        """Return the next reply within `timeout` seconds; refuse with ProviderError."""
        ...
