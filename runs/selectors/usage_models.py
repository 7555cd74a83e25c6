"""What the page of a run's usage shows."""

from __future__ import annotations

import decimal
from dataclasses import dataclass

from runs.selectors import run_models


@dataclass(frozen=True, kw_only=True)
class UsageRow:
    label: str
    calls: int
    tokens_in: int | None
    tokens_out: int | None
    seconds: float | None
    cost: decimal.Decimal | None


@dataclass(frozen=True, kw_only=True)
class Limit:
    """What may be used of one measure, by whom, and how much of it is gone."""

    sentence: str  # "This run has used 12 of 15 turns (80 %); 3 are left."
    warn: bool  # nearly or wholly used up


@dataclass(frozen=True, kw_only=True)
class UsagePage:
    header: run_models.RunHeader
    limits: tuple[Limit, ...]
    models: tuple[UsageRow, ...]
    tools: tuple[UsageRow, ...]
    waited_seconds: float
    active_seconds: float
