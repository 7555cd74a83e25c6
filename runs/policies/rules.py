"""Policy rules, version 1: rules and facts in, a verdict out. Pure, and it fails closed.

The first rule that matches decides. No match means allow for a tool that only reads, and a review for every
effect. Anything that isn't literally a known value, in a rule or in the facts, means a review as well, and so does a
condition that fails. Times that a rule doesn't name (None) come from the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from runs import cel
from runs.policies.matching import MARKS as MARKS
from runs.policies.matching import MODES as MODES
from runs.policies.matching import NAMES as NAMES
from runs.policies.matching import NOTHING, holds, matches
from runs.policies.matching import PROTECTIONS as PROTECTIONS
from runs.policies.matching import Facts as Facts
from runs.policies.matching import Match as Match
from runs.policies.matching import Unknown as Unknown

ALLOW = "allow"
REVIEW = "review"
DENY = "deny"
VERDICTS = (ALLOW, REVIEW, DENY)  # from the loosest to the strictest
EFFECTS = ("read", "reversible", "irreversible")
TIERS = (0, 1, 2, 3)
WORST_TIER = 3
REVIEWERS = ("reviewer",)
STAY, ESCALATE = "stay", "escalate"
ON_EXPIRY = ("deny", ESCALATE, STAY)  # from the strictest to the loosest; none of them ever approves

DEFAULT_RULES: dict[str, Any] = {
    "version": 1,
    "rules": [
        {"name": "Reading is free", "match": {"effect": ["read"]}, "verdict": ALLOW},
        {"name": "What can be undone goes through", "match": {"tier": [1]}, "verdict": ALLOW},
        {
            "name": "What leaves the house is read first",
            "match": {"tier": [2]},
            "verdict": REVIEW,
            "groups": ["reviewer"],
            "reason_required": True,
        },
        {
            "name": "What can't be undone is released by somebody else",
            "match": {"tier": [3]},
            "verdict": REVIEW,
            "groups": ["reviewer"],
            "separation": True,
            "reason_required": True,
        },
    ],
}
"""What a new installation starts with, as a document of this format."""


@dataclass(frozen=True)
class Rung:
    """So many seconds after a question was opened, these groups are asked as well."""

    after_seconds: int
    groups: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Rule:
    """One rule, as it stands in a policy."""

    name: str
    verdict: str
    match: Match = field(default_factory=Match)
    tier: int | None = None  # only ever raises the tool's own
    groups: tuple[str, ...] = REVIEWERS
    quorum: int = 1
    separation: bool = False
    due_seconds: int | None = None
    expires_seconds: int | None = None
    on_expiry: str = "deny"
    escalate: tuple[Rung, ...] = ()
    undo_seconds: int | None = None
    reason_required: bool = False


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What a policy says about one action. `reason` is one sentence for people and for the agent."""

    verdict: str
    rule: str
    tier: int
    groups: tuple[str, ...] = REVIEWERS
    quorum: int = 1
    separation: bool = False
    due_seconds: int | None = None
    expires_seconds: int | None = None
    on_expiry: str = "deny"
    escalate: tuple[Rung, ...] = ()
    undo_seconds: int | None = None
    reason_required: bool = False
    reason: str = ""

    @property
    def doubtful(self) -> bool:
        """Return whether the rule could not be applied to the call."""
        return _DOUBT in self.reason


_DOUBT = "could not be applied, so a person decides:"


def evaluate(rules: tuple[Rule, ...], facts: Facts, call: Mapping[str, Any] = NOTHING) -> Verdict:
    """Return the verdict of the first rule that matches; what isn't understood is never allowed.

    `call` is asked for what a rule wants to know of the one call, and for nothing else.
    """
    if not _known(facts):
        return _closed(WORST_TIER, "", "No rule understands this action, so a person decides.")
    for rule in rules:
        if not _sound(rule):
            return _closed(facts.tier, str(rule.name), "This rule isn't valid, so a person decides.")
        if not matches(rule.match, facts):
            continue
        try:
            if holds(rule.match, call):
                return _said(rule, facts, f"{_SAYS[rule.verdict]} by the rule “{rule.name}”.")
        except (Unknown, cel.CelError) as error:
            why = f"The rule “{rule.name}” {_DOUBT} {error}"
            return _doubted(rule, facts, why)
    if facts.effect == "read" and facts.tier == 0:
        return Verdict(verdict=ALLOW, rule="", tier=0, reason="No rule matches, and the tool only reads.")
    return _closed(facts.tier, "", "No rule matches, so a person decides.")


def depends(rules: tuple[Rule, ...], facts: Facts) -> bool:
    """Return whether what is said of such a call may depend on more than these facts."""
    first = next((rule for rule in rules if not _sound(rule) or matches(rule.match, facts)), None)
    return first is not None and _sound(first) and first.match.of_the_call


def stricter(first: Verdict, second: Verdict) -> Verdict:
    """Return a verdict that is at least as strict as both, part by part.

    The groups are those that both name; if they share none, those of the stricter one, or else of the second.
    Times are the shorter ones; where only one is named it counts, so fill in the defaults before.
    """
    undo = [item for item in (first.undo_seconds, second.undo_seconds) if item is not None]
    lead, other = (first, second) if _rank(first) > _rank(second) else (second, first)
    shared = tuple(group for group in lead.groups if group in other.groups)
    return replace(
        lead,
        tier=max(first.tier, second.tier),
        groups=shared or lead.groups,
        quorum=max(first.quorum, second.quorum),
        separation=first.separation or second.separation,
        due_seconds=_shorter(first.due_seconds, second.due_seconds),
        expires_seconds=_shorter(first.expires_seconds, second.expires_seconds),
        on_expiry=min(first.on_expiry, second.on_expiry, key=ON_EXPIRY.index),
        escalate=lead.escalate or other.escalate,
        undo_seconds=max(undo, default=None),
        reason_required=first.reason_required or second.reason_required,
    )


_SAYS: Mapping[str, str] = {ALLOW: "Allowed", REVIEW: "A person decides,", DENY: "Denied"}


def _rank(verdict: Verdict) -> tuple[int, int]:
    return (VERDICTS.index(verdict.verdict) if verdict.verdict in VERDICTS else 1, verdict.tier)


def _shorter(first: int | None, second: int | None) -> int | None:
    return min((item for item in (first, second) if item is not None), default=None)


def _said(rule: Rule, facts: Facts, reason: str) -> Verdict:
    return Verdict(
        verdict=rule.verdict,
        rule=rule.name,
        tier=max(facts.tier, rule.tier or 0),
        groups=rule.groups,
        quorum=rule.quorum,
        separation=rule.separation,
        due_seconds=rule.due_seconds,
        expires_seconds=rule.expires_seconds,
        on_expiry=rule.on_expiry,
        escalate=rule.escalate,
        undo_seconds=rule.undo_seconds,
        reason_required=rule.reason_required,
        reason=reason,
    )


def _doubted(rule: Rule, facts: Facts, reason: str) -> Verdict:
    """Return a review on the terms of the rule that could not be applied, if it is one that asks."""
    closed = _closed(facts.tier, rule.name, reason)
    return (
        replace(stricter(closed, _said(rule, facts, "")), reason=reason) if rule.verdict == REVIEW else closed
    )


def _closed(tier: int, rule: str, reason: str) -> Verdict:
    return Verdict(verdict=REVIEW, rule=rule, tier=tier, separation=tier == WORST_TIER, reason=reason)


def _known(facts: Facts) -> bool:
    return (
        _is(facts.agent, str)
        and _is(facts.tool, str)
        and facts.effect in EFFECTS
        and _is(facts.tier, int)
        and facts.tier in TIERS
    )


def _is(value: object, kind: type) -> bool:
    """Return whether a value has exactly this type; annotations promise it, stored rules may not keep it."""
    return type(value) is kind


def _sound(rule: Rule) -> bool:
    """Return whether a rule holds known values only; one that was parsed always does."""
    return (
        rule.verdict in VERDICTS
        and _is(rule.quorum, int)
        and rule.quorum >= 1
        and _is(rule.separation, bool)
        and rule.on_expiry in ON_EXPIRY
        and bool(rule.groups)
        and (rule.tier is None or (_is(rule.tier, int) and rule.tier in TIERS))
    )
