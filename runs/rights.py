"""Who may do what, as a table. Pure: groups in, yes or no out."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

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
    ANSWER_FAILURE = "answer_failure"
    RAISE_BUDGET = "raise_budget"
    EDIT_PLAN = "edit_plan"
    AUDIT = "audit"
    SWITCH = "switch"
    PEOPLE = "people"


_TABLE: dict[Act, frozenset[str]] = {
    Act.VIEW: frozenset(ROLES),
    Act.START: frozenset({OPERATOR, ADMIN}),
    Act.REDRIVE: frozenset({OPERATOR, ADMIN}),
    Act.DECIDE: frozenset({REVIEWER, ADMIN}),
    Act.PAUSE: frozenset({OPERATOR, REVIEWER, ADMIN}),
    Act.RESUME: frozenset({OPERATOR, ADMIN}),
    Act.STOP: frozenset({OPERATOR, REVIEWER, ADMIN}),
    Act.UNDO: frozenset({OPERATOR, REVIEWER, ADMIN}),
    Act.ANSWER_FAILURE: frozenset({OPERATOR, ADMIN}),
    Act.RAISE_BUDGET: frozenset({OPERATOR, ADMIN}),
    Act.EDIT_PLAN: frozenset({OPERATOR, ADMIN}),
    Act.AUDIT: frozenset({AUDITOR, ADMIN}),
    Act.SWITCH: frozenset({ADMIN}),
    Act.PEOPLE: frozenset({ADMIN}),
}


def may(roles: Iterable[str], act: Act) -> bool:
    """Return whether somebody with these roles may do `act`."""
    return not _TABLE[act].isdisjoint(roles)


def may_decide(roles: Iterable[str], groups: Iterable[str]) -> bool:
    """Return whether these roles may decide a review that asks for one of `groups`; an administrator always may."""
    held = frozenset(roles)
    return may(held, Act.DECIDE) and (ADMIN in held or not held.isdisjoint(groups))


def holders(act: Act) -> tuple[str, ...]:
    """Return the roles that may do `act`, for the sentence on a refusal."""
    return tuple(role for role in ROLES if role in _TABLE[act])
