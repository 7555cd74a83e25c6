"""Asking the policy in force about one call."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from runs import calls, models
from runs.models import columns
from runs.policies import parsing, rules
from runs.tools.contract import Tool
from runs.transitions import steps


@dataclass(frozen=True, kw_only=True)
class InForce:
    """The policy version, the switches and the gate epoch under which something is evaluated."""

    epoch: int
    version: int | None
    rules: tuple[rules.Rule, ...]
    paused_all: bool = False
    paused_agents: frozenset[str] = frozenset()
    paused_tools: frozenset[str] = frozenset()
    restored_at: datetime.datetime | None = None
    asked: dict[tuple[Any, ...], steps.Verdict] = field(default_factory=dict, compare=False)
    """What it said before; asking again costs no reading of every rule."""

    def stops(self, *, agent: str, tool: str) -> bool:
        """Return whether a switch keeps this tool of this agent from being started."""
        return self.paused_all or agent in self.paused_agents or tool in self.paused_tools


def in_force() -> InForce:
    """Return the policy in force now; the gate refuses what was evaluated under an older epoch."""
    row = columns.one(models.Installation, "id = $1", 1)
    return InForce(
        epoch=row.gate_epoch,
        version=row.policy_version_id,
        rules=_rules(row.policy_version_id),
        paused_all=row.halted,
        paused_agents=row.paused("agent"),
        paused_tools=row.paused("tool"),
        restored_at=row.restored_at,
    )


@lru_cache(maxsize=64)
def _rules(version: int | None) -> tuple[rules.Rule, ...]:
    """Return the parsed rules; versions are immutable. Without a policy every effect is reviewed."""
    if version is None:
        return ()
    return parsing.parse(models.PolicyVersion.objects.get(pk=version).rules)


def ask(policy: InForce, *, agent: str, tool: type[Tool], never_allow: bool = False) -> steps.Verdict:
    """Return the verdict on a call of `tool`; with `never_allow` (a duplicate, say) a person decides at least."""
    facts = (agent, tool.name, tool.effect, tool.risk(), never_allow)
    if facts not in policy.asked:
        policy.asked[facts] = _ask(policy.rules, *facts)
    return policy.asked[facts]


@lru_cache(maxsize=1024)
def _ask(
    known: tuple[rules.Rule, ...], agent: str, tool: str, effect: str, tier: int, never_allow: bool
) -> steps.Verdict:
    found = rules.evaluate(known, rules.Facts(agent=agent, tool=tool, effect=str(effect), tier=tier))
    verdict = found.verdict
    if verdict == rules.ALLOW and never_allow:
        verdict = rules.REVIEW
    return _stored(verdict, found)


def asking(policy: InForce, *, agent: str) -> steps.Verdict:
    """Return who answers the agent's questions, by when, and whether it may ask: what a rule for `ask_human` says."""
    return _ask(policy.rules, agent, calls.ASK, "read", 0, False)


def of_an_edit(today: steps.Verdict, action: models.Action) -> steps.Verdict:
    """Return the verdict on arguments that a person wrote: the stricter of what was asked before and of today's.

    Where nothing can be undone, whoever wrote them isn't the one who releases them.
    """
    found = rules.stricter(_read(action.terms), _read(today.terms))
    verdict = rules.DENY if today.verdict == rules.DENY else rules.REVIEW
    tier = max(found.tier, action.tier)
    found = dataclasses.replace(found, tier=tier, separation=found.separation or tier == rules.WORST_TIER)
    return dataclasses.replace(_stored(verdict, found), rule=today.rule, reason=today.reason)


def _read(terms: Mapping[str, Any]) -> rules.Verdict:
    return rules.Verdict(**{**terms, "groups": tuple(terms["groups"])})


def _stored(verdict: str, found: rules.Verdict) -> steps.Verdict:
    terms = dataclasses.asdict(found)
    terms["groups"] = list(found.groups)
    return steps.Verdict(verdict=verdict, rule=found.rule, tier=found.tier, terms=terms, reason=found.reason)
