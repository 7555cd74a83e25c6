"""What one trial showed."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from tests.harness.plan import Plan


@dataclass
class Outcome:
    """What a trial showed."""

    plan: Plan
    run: int = 0
    names: list[str] = field(default_factory=list)
    fired: list[tuple[str, str]] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    passed: Counter[str] = field(default_factory=Counter)
    recoveries: list[float] = field(default_factory=list)
    violations: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def line(self) -> str:
        """Return one line for people."""
        what = {**self.counts, "fired": self.fired, "violations": self.violations}
        return f"{self.seconds:5.1f} s  {self.plan.name()} {what}"


@dataclass(frozen=True, kw_only=True)
class Look:
    """The run as it stands."""

    status: str
    due: float
    open: int
    moved: tuple[Any, ...]
