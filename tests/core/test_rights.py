"""Who may do what: the whole table, written out."""

from __future__ import annotations

import itertools

import pytest

from runs import rights
from runs.rights import Act

MAY: dict[str, set[Act]] = {
    "viewer": {Act.VIEW},
    "reviewer": {Act.VIEW, Act.DECIDE, Act.PAUSE, Act.STOP, Act.UNDO, Act.VERIFY},
    "operator": {
        Act.VIEW, Act.START, Act.REDRIVE, Act.PAUSE, Act.RESUME, Act.STOP, Act.UNDO, Act.ANSWER_FAILURE,
        Act.RAISE_BUDGET, Act.EDIT_PLAN, Act.VERIFY, Act.MEMORY, Act.SYSTEM,
    },
    "auditor": {Act.VIEW, Act.AUDIT, Act.VERIFY, Act.SYSTEM},
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


@pytest.mark.parametrize("role", rights.ROLES)
def test_a_token_narrows_and_never_widens(role: str) -> None:
    for act in Act:
        held = rights.Held.through([role], [act])
        assert {other for other in Act if rights.may(held, other)} == MAY[role] & {act}
        assert rights.may_decide(held, ["reviewer"]) == (act == Act.DECIDE and role in {"reviewer", "admin"})
        for kind, own in rights.OWN_RIGHT.items():
            assert rights.may_answer(held, kind, ["reviewer"]) == (act == own and own in MAY[role])
    machine = rights.Held.through([role], rights.MACHINE_ACTS)
    assert not any(rights.may(machine, act) for act in (Act.DECIDE, *rights.OWN_RIGHT.values()))


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
