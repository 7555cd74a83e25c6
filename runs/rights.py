"""Who may do what, as a table. Pure: groups in, yes or no out."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from runs import lifecycle

VIEWER, REVIEWER, OPERATOR, ADMIN, AUDITOR = "viewer", "reviewer", "operator", "admin", "auditor"
ROLES = (VIEWER, REVIEWER, OPERATOR, ADMIN, AUDITOR)


class Act(StrEnum):
    """Something a person may want to do."""

    VIEW = "view"
    START = "start"
    REDRIVE = "redrive"
    DECIDE = "decide"
    PAUSE = "pause"
    RESUME = "resume"
    STOP = "stop"
    UNDO = "undo"
    VERIFY = "verify"
    ANSWER_FAILURE = "answer_failure"
    RAISE_BUDGET = "raise_budget"
    EDIT_PLAN = "edit_plan"
    AUDIT = "audit"
    SWITCH = "switch"
    BUDGETS = "budgets"
    SECRETS = "secrets"
    TOOLS = "tools"
    AGENTS = "agents"
    MEMORY = "memory"
    POLICIES = "policies"
    PEOPLE = "people"
    BREAK_GLASS = "break_glass"
    NOTICES = "notices"
    SYSTEM = "system"


_TABLE: dict[Act, frozenset[str]] = {
    Act.VIEW: frozenset(ROLES),
    Act.START: frozenset({OPERATOR, ADMIN}),
    Act.REDRIVE: frozenset({OPERATOR, ADMIN}),
    Act.DECIDE: frozenset({REVIEWER, ADMIN}),
    Act.PAUSE: frozenset({OPERATOR, REVIEWER, ADMIN}),
    Act.RESUME: frozenset({OPERATOR, ADMIN}),
    Act.STOP: frozenset({OPERATOR, REVIEWER, ADMIN}),
    Act.UNDO: frozenset({OPERATOR, REVIEWER, ADMIN}),
    Act.VERIFY: frozenset({OPERATOR, REVIEWER, AUDITOR, ADMIN}),
    Act.ANSWER_FAILURE: frozenset({OPERATOR, ADMIN}),
    Act.RAISE_BUDGET: frozenset({OPERATOR, ADMIN}),
    Act.EDIT_PLAN: frozenset({OPERATOR, ADMIN}),
    Act.AUDIT: frozenset({AUDITOR, ADMIN}),
    Act.SWITCH: frozenset({ADMIN}),
    Act.BUDGETS: frozenset({ADMIN}),
    Act.SECRETS: frozenset({ADMIN}),
    Act.TOOLS: frozenset({ADMIN}),
    Act.AGENTS: frozenset({ADMIN}),
    Act.MEMORY: frozenset({OPERATOR, ADMIN}),
    Act.POLICIES: frozenset({ADMIN}),
    Act.PEOPLE: frozenset({ADMIN}),
    Act.BREAK_GLASS: frozenset({ADMIN}),
    Act.NOTICES: frozenset({ADMIN}),
    Act.SYSTEM: frozenset({OPERATOR, AUDITOR, ADMIN}),
}

MACHINE_ACTS = frozenset({Act.VIEW, Act.START, Act.PAUSE, Act.STOP})
"""All that an agent's or a service's token can ever be for: a decision is a person's."""

TOKEN_ACTS = MACHINE_ACTS | {Act.RESUME, Act.REDRIVE, Act.DECIDE, Act.ANSWER_FAILURE, Act.RAISE_BUDGET}
"""All that a token can be for; the rest is done on the pages."""


class Held(frozenset[str]):
    """Roles that are held through a token: it lets only its own acts through, whatever the person may."""

    acts: frozenset[Act]

    @classmethod
    def through(cls, roles: Iterable[str], acts: Iterable[Act]) -> Held:
        """Return these roles, narrowed to `acts`."""
        found = cls(roles)
        found.acts = frozenset(acts)
        return found


OWN_RIGHT: dict[str, Act] = {
    lifecycle.ReviewKind.FAILURE: Act.ANSWER_FAILURE,
    lifecycle.ReviewKind.BUDGET: Act.RAISE_BUDGET,
}
"""Kinds of review that need a right of their own instead of a group."""


def may(roles: Iterable[str], act: Act) -> bool:
    """Return whether somebody with these roles may do `act`."""
    if isinstance(roles, Held) and act not in roles.acts:
        return False
    return not _TABLE[act].isdisjoint(roles)


def may_decide(roles: Iterable[str], groups: Iterable[str]) -> bool:
    """Return whether these roles may decide a review that asks for one of `groups`; an administrator always may."""
    held = roles if isinstance(roles, frozenset) else frozenset(roles)
    return may(held, Act.DECIDE) and (ADMIN in held or not held.isdisjoint(groups))


def may_answer(roles: Iterable[str], kind: str, groups: Iterable[str]) -> bool:
    """Return whether these roles may answer a review of this kind that asks for one of `groups`."""
    act = OWN_RIGHT.get(kind)
    return may(roles, act) if act else may_decide(roles, groups)


def answerers(kind: str, groups: Iterable[str]) -> frozenset[str]:
    """Return the roles that may answer a review of this kind."""
    act = OWN_RIGHT.get(kind)
    return _TABLE[act] if act else frozenset(groups) & _TABLE[Act.DECIDE] | {ADMIN}


def deciders() -> frozenset[str]:
    """Return the roles without which nobody decides anything, whatever else they are in."""
    return _TABLE[Act.DECIDE]


def holders(act: Act) -> tuple[str, ...]:
    """Return the roles that may do `act`, for the sentence on a refusal."""
    return tuple(role for role in ROLES if role in _TABLE[act])
