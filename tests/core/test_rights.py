"""Who may do what: the whole table, written out."""

from __future__ import annotations

import itertools

import pytest

from runs import rights
from runs.rights import Act

MAY: dict[str, set[Act]] = {
    "viewer": {Act.VIEW},
    "reviewer": {Act.VIEW, Act.DECIDE, Act.PAUSE, Act.STOP, Act.UNDO},
    "operator": {
        Act.VIEW, Act.START, Act.REDRIVE, Act.PAUSE, Act.RESUME, Act.STOP, Act.UNDO, Act.ANSWER_FAILURE,
        Act.RAISE_BUDGET, Act.EDIT_PLAN,
    },
    "auditor": {Act.VIEW, Act.AUDIT},
    "admin": set(Act),
}  # fmt: skip


@pytest.mark.parametrize("role", rights.ROLES)
def test_each_role_may_do_this_and_nothing_else(role: str) -> None:
    assert {act for act in Act if rights.may([role], act)} == MAY[role]


def test_nobody_and_strangers_may_do_nothing() -> None:
    for act in Act:
        assert not rights.may([], act)
        assert not rights.may(["accountant", "Admin", "admin "], act)


@pytest.mark.parametrize("act", Act)
def test_roles_add_up(act: Act) -> None:
    for pair in itertools.combinations(rights.ROLES, 2):
        assert rights.may(pair, act) == any(rights.may([role], act) for role in pair)
    assert set(rights.holders(act)) == {role for role in rights.ROLES if act in MAY[role]}


@pytest.mark.parametrize(
    ("roles", "groups", "yes"),
    [
        (["reviewer"], ["reviewer"], True),
        (["reviewer"], ["finance"], False),
        (["reviewer", "finance"], ["finance"], True),
        (["finance"], ["finance"], False),  # a group alone gives no right to decide
        (["admin"], ["finance"], True),
        (["operator"], ["operator"], False),
        (["viewer"], ["viewer"], False),
        ([], ["reviewer"], False),
        (["reviewer"], [], False),
    ],
)
def test_who_decides(roles: list[str], groups: list[str], yes: bool) -> None:
    assert rights.may_decide(roles, groups) is yes
