"""What the tools page holds."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from runs.selectors import page_models, policy_models


@dataclass(frozen=True, kw_only=True)
class Line:
    """One tool in the list."""

    name: str
    title: str
    tier: int
    effect: str
    lost: str
    agents: tuple[str, ...] = ()
    paused: bool = False
    in_doubt: int = 0
    failed: int = 0
    used: int = 0
    off: str = ""


@dataclass(frozen=True, kw_only=True)
class Argument:
    """One argument of a tool, in words."""

    name: str
    kind: str
    needed: bool
    marks: tuple[str, ...]
    said: str


@dataclass(frozen=True, kw_only=True)
class Failure:
    """One action of the tool that failed."""

    run_id: int
    run_title: str
    why: str
    at: datetime.datetime | None


@dataclass(frozen=True, kw_only=True)
class Detail:
    """Everything about one tool."""

    line: Line
    about: str
    facts: tuple[page_models.Fact, ...]
    can: tuple[page_models.Fact, ...]
    arguments: tuple[Argument, ...]
    schema: str
    contract: str
    agents: tuple[tuple[str, str], ...] = ()
    rules: tuple[policy_models.RuleRow, ...] = ()
    failures: tuple[Failure, ...] = ()
    may_switch: bool = False


@dataclass(frozen=True, kw_only=True)
class ToolsPage:
    """The list: those that are there, and the built-in ones that are off."""

    lines: tuple[Line, ...]
    off: tuple[Line, ...]
    newest: int
