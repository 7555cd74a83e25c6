"""What a provider does: one request in, one reply out. No loop, no retries, no effects.

Every provider may make the control calls in CONTROL besides tool calls. `plan` comes in three forms:

- {"steps": [...], "reason": "..."} replaces all pending steps;
- {"steps": [...], "replace": "<id>", "reason": "..."} puts them in the place of that one (none removes it);
- {"skip": "<id>", "reason": "..."} marks it skipped.

Each step is {"id", "title", "body"}. `finish` ends the run: {"summary": "...", "result": ...}. `ask_human` asks a
person: {"question": "...", "schema": {...}}; its result is a value that fits the JSON Schema (a text where there is
none), or words why there is no answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from runs import state
from runs.calls import ASK as ASK

PLAN = "plan"
FINISH = "finish"
CONTROL = frozenset({PLAN, FINISH, ASK})


@dataclass(frozen=True, kw_only=True)
class Call:
    """One proposed call. `step` names the plan step that it carries out, `label` is the provider's own id."""

    tool: str
    arguments: Any
    step: str | None = None
    label: str = ""


@dataclass(frozen=True, kw_only=True)
class Usage:
    """What the reply cost. `cost_micro`: millionths of a US dollar; None, never 0, when unknown."""

    tokens_in: int = 0
    tokens_out: int = 0
    cost_micro: int | None = 0


@dataclass(frozen=True, kw_only=True)
class Reply:
    """What the model, or the playbook, said."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    usage: Usage = field(default_factory=Usage)


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


@dataclass(frozen=True, kw_only=True)
class Request:
    """All that the next reply may depend on.

    `plan` holds the current plan's steps that aren't closed, in order (a window; the first steps come first).
    `planned` is False until the run has a plan. `results` maps the names that `Provider.references` asked
    for: a step id to the value of its result (None if it has none), a group id to {"rows": [{"id", "title",
    "state", "result"}], "total": n, "done": n, "refused": n, "failed": n, "skipped": n,
    "kept": n, "simulated": n}; what stood already and what a dry run tried out are among the done.
    `replies` counts the replies that the run has stored so far.
    """

    agent: AgentSpec
    input: Mapping[str, Any]
    planned: bool
    plan: tuple[state.PlanStep, ...]
    results: Mapping[str, Any]
    replies: int = 0


class ProviderError(RuntimeError):
    """The provider can't answer. The message is one sentence; `retryable` says whether waiting may help."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable


class Provider(Protocol):
    """One small object per provider, without state of its own."""

    name: str
    local: bool
    """Whether it answers from what is here, at once: then it needs no thread that can be given up."""

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
