"""What the policy pages show."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from runs.policies import words
from runs.selectors import edit_page


@dataclass(frozen=True, kw_only=True)
class Yield:
    """What came of the questions that one rule made people answer."""

    asked: int
    approved: int
    edited: int
    refused: int
    expired: int
    otherwise: int  # asked back, done by hand, or what was done before was kept or taken back
    gone: int  # no longer asked before anybody answered
    waiting: int

    @property
    def decided(self) -> int:
        """Return how many were answered."""
        return self.approved + self.edited + self.refused + self.otherwise

    @property
    def stopped(self) -> int:
        """Return how many were not simply approved."""
        return self.edited + self.refused + self.otherwise

    @property
    def relax(self) -> bool:
        """Return whether the rule has asked often and stopped nothing."""
        return self.decided >= ENOUGH and not self.stopped

    @property
    def at_most(self) -> str:
        """Return how many in 100 it may stop all the same: with 95 % certainty 3 in so many decided."""
        return f"{300 / self.decided:.1f}" if self.decided else ""


ENOUGH = 20
"""Decisions after which a rule that stopped nothing is worth a second thought."""


@dataclass(frozen=True, kw_only=True)
class RuleRow:
    """One rule of a version, as people read it."""

    number: int
    said: words.Said
    came: Yield | None = None

    @property
    def key(self) -> str:
        """Return the number as a text, for the ids of a page."""
        return str(self.number)


@dataclass(frozen=True, kw_only=True)
class VersionRow:
    """One version, and who wrote it."""

    number: int
    author: str
    reason: str
    at: datetime.datetime
    current: bool


@dataclass(frozen=True, kw_only=True)
class PolicyPage:
    """One version of the policy."""

    number: int
    current: int
    digest: str
    author: str
    reason: str
    at: datetime.datetime
    rules: tuple[RuleRow, ...]
    versions: tuple[VersionRow, ...]
    before: int
    changes: tuple[edit_page.Shown, ...]
    may_change: bool
    days: int
    of_newest: int  # so many questions were looked at where there were more; else 0


@dataclass(frozen=True, kw_only=True)
class Case:
    """One past action about which the two policies say something else."""

    action_id: int
    run_id: int
    run_title: str
    what: str
    rule: str
    answer: str  # what people said about it then, in words, or nothing
    terms: str = ""  # how it would be asked otherwise than now, in words


@dataclass(frozen=True, kw_only=True)
class Group:
    """The past actions about which the draft says the same, and says something else than the policy in force."""

    count: int
    cases: tuple[Case, ...]

    @property
    def more(self) -> int:
        """Return how many are not listed."""
        return self.count - len(self.cases)


@dataclass(frozen=True, kw_only=True)
class RuleUse:
    """How many past actions one rule of the draft would have decided."""

    number: int
    name: str
    decides: int
    failed: int
    """For so many it can't be applied, so they count as put before people."""
    why: str
    """Why, for the first of these."""


@dataclass(frozen=True, kw_only=True)
class Simulation:
    """What a draft would have said of past actions, beside what the policy in force says of them."""

    days: int
    looked: int
    cut: bool
    before: dict[str, int]
    after: dict[str, int]
    passes: Group
    asks: Group
    refuses: Group
    otherwise: Group
    """Asked about by both, on other terms."""
    rules: tuple[RuleUse, ...]

    @property
    def sentence(self) -> str:
        """Return the result in one sentence."""
        return (
            f"Of {self.looked} actions it would put {self.after['review']} before people instead of "
            f"{self.before['review']}, let {self.after['allow']} through instead of {self.before['allow']}, and refuse "
            f"{self.after['deny']} instead of {self.before['deny']}."
        )
