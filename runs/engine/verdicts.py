"""Asking the policy in force about one call."""

from __future__ import annotations

import dataclasses
import datetime
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from runs import calls, models
from runs.models import alike, columns, kept
from runs.policies import parsing, rules, terms
from runs.tools.contract import Tool
from runs.transitions import considered, steps
from runs.transitions.considered import Considered


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
    asked: dict[tuple[Any, ...], steps.Verdict | None] = field(default_factory=dict, compare=False)
    """What it said before; asking again costs no reading of every rule. None: it depends on the one call."""

    def stops(self, *, agent: str, tool: str) -> bool:
        """Return whether a switch keeps this tool of this agent from being started."""
        return self.paused_all or agent in self.paused_agents or tool in self.paused_tools


def in_force() -> InForce:
    """Return the policy in force now; the gate refuses what was evaluated under an older epoch."""
    return of_installation(columns.one(models.Installation, "id = $1", 1))


def of_installation(row: models.Installation) -> InForce:
    """Return the policy in force by the installation's row as it was read."""
    return InForce(
        epoch=row.gate_epoch,
        version=row.policy_version_id,
        rules=_rules(row.policy_version_id),
        paused_all=row.halted,
        paused_agents=row.paused("agent"),
        paused_tools=row.paused("tool"),
        restored_at=row.restored_at,
    )


@kept.by_number(64)
def _rules(version: int | None) -> tuple[rules.Rule, ...]:
    """Return the parsed rules; versions are immutable. Without a policy every effect is reviewed."""
    if version is None:
        return ()
    return parsing.parse(models.PolicyVersion.objects.get(pk=version).rules)


def ask(
    policy: InForce, call: Considered, *, agent: str, tool: type[Tool], never_allow: bool = False
) -> steps.Verdict:
    """Return the verdict on a call of `tool`; with `never_allow` (a duplicate, say) a person decides at least.

    A rule for targets that were never reached asks the call's preview, which may ask the world.
    """
    key = (agent, tool.name, never_allow, call.run.mode, alike.labels(call.run))
    if key not in policy.asked:
        policy.asked[key] = _ask(policy.rules, considered.facts(call.run, tool, agent=agent), never_allow)
    known = policy.asked[key]
    if known is not None:
        return known
    facts = considered.facts(call.run, tool, agent=agent)
    return _bounded(rules.evaluate(policy.rules, facts, call), never_allow)


@lru_cache(maxsize=1024)
def _ask(known: tuple[rules.Rule, ...], facts: rules.Facts, never_allow: bool) -> steps.Verdict | None:
    """Return what is said of every such call, or None where that depends on the call."""
    return None if rules.depends(known, facts) else _bounded(rules.evaluate(known, facts), never_allow)


def _bounded(found: rules.Verdict, never_allow: bool) -> steps.Verdict:
    allowed = found.verdict == rules.ALLOW
    return _stored(rules.REVIEW if allowed and never_allow else found.verdict, found)


def asking(policy: InForce, call: Considered, *, agent: str) -> steps.Verdict:
    """Return who answers the agent's questions, by when, and whether it may ask: what a rule for `ask_human` says."""
    mode, labels = str(call.run.mode), alike.labels(call.run)
    facts = rules.Facts(agent=agent, tool=calls.ASK, effect="read", tier=0, mode=mode, labels=labels)
    found = rules.evaluate(policy.rules, facts, call)
    return _stored(found.verdict, found)


def of_an_edit(today: steps.Verdict, action: models.Action) -> steps.Verdict:
    """Return the verdict on arguments that a person wrote: the stricter of what was asked before and of today's.

    Where nothing can be undone, whoever wrote them isn't the one who releases them.
    """
    found = rules.stricter(terms.read(action.terms), terms.read(today.terms))
    verdict = rules.DENY if today.verdict == rules.DENY else rules.REVIEW
    tier = max(found.tier, action.tier)
    found = dataclasses.replace(found, tier=tier, separation=found.separation or tier == rules.WORST_TIER)
    return dataclasses.replace(_stored(verdict, found), rule=today.rule, reason=today.reason)


def _stored(verdict: str, found: rules.Verdict) -> steps.Verdict:
    stored = terms.written(found)
    return steps.Verdict(verdict=verdict, rule=found.rule, tier=found.tier, terms=stored, reason=found.reason)
