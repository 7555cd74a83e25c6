"""What the pages about budgets show, as frozen data."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass

from runs.selectors import page_models


@dataclass(frozen=True, kw_only=True)
class Gauge:
    """What of one limit is used, reserved and left."""

    label: str  # "Turns", "Calls of mail.send"
    used: str
    of: str
    rest: str  # "20 reserved, 60 left"
    percent: int
    warn: bool


@dataclass(frozen=True, kw_only=True)
class Scope:
    """An agent, or everybody together, today."""

    name: str  # empty for everybody
    title: str
    gauges: tuple[Gauge, ...]
    source: str  # where its limits come from, in one sentence


@dataclass(frozen=True, kw_only=True)
class Raised:
    """A limit of today that somebody raised when it was reached."""

    said: str
    author: str
    reason: str
    at: datetime.datetime


@dataclass(frozen=True, kw_only=True)
class BudgetsPage:
    """Everybody and one page of the agents."""

    day: datetime.date
    everybody: Scope
    agents: tuple[Scope, ...]
    pages: page_models.Page
    warnings: tuple[str, ...]
    may_change: bool


@dataclass(frozen=True, kw_only=True)
class Day:
    """What was used on a day, one text for each measure that was limited then."""

    day: datetime.date
    used: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Version:
    """Who set which limits, and why."""

    number: int
    said: str
    author: str
    reason: str
    at: datetime.datetime


@dataclass(frozen=True, kw_only=True)
class Field:
    """One text of the form."""

    name: str
    label: str
    hint: str
    text: str
    error: str


@dataclass(frozen=True, kw_only=True)
class BudgetPage:
    """One agent, or everybody: today, the last days, and what was set."""

    scope: Scope
    days: tuple[Day, ...]
    versions: tuple[Version, ...]
    raised: tuple[Raised, ...]
    base: int
    limits: Mapping[str, int]
    asked: int | None  # the question for more that is open today
    may_change: bool
