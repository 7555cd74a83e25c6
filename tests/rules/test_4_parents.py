"""Runs that depend on each other: whoever moves one of them locks no other."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from runs import models, points
from runs.transitions import holds, steps, switches
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.rules.branching import redrive
from tests.rules.test_4_plan_edits import plan, save

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
_LOCKS_RUNS = re.compile(r'FROM "?runs_run"?.*FOR (NO KEY )?UPDATE', re.DOTALL)


@contextmanager
def locked() -> Iterator[list[set[int]]]:
    """Give the runs that each transaction locks while the block runs."""
    found: list[set[int]] = [set()]

    def reach(name: str) -> None:
        if name.endswith(".before"):
            found.append(set())

    def note(execute: Any, sql: str, params: Any, many: bool, context: Any) -> Any:
        if _LOCKS_RUNS.search(sql):
            found[-1].update(int(number) for number in params if isinstance(number, (int, bytes)))
        return execute(sql, params, many, context)

    points.arm(reach)
    try:
        with connection.execute_wrapper(note):
            yield found
    finally:
        points.arm(None)


def test_4_11_one_transaction_locks_one_run(
    start: Start, reviewer: models.User, operator: models.User, person: Callable[..., models.User]
) -> None:
    """Decisions, holds, stops, plan edits, switches and re-drives, beside other runs that are at work."""
    at_work = [start(step("look", "it")) for _ in range(2)]
    for other in at_work:
        assert steps.claim(other.pk) is not None
    run = go(start(step("lookup", "mail"), step("allowed", "next")))
    by, admin = Actor(user=operator), Actor(user=person("ada", "admin"))
    with locked() as transactions:
        holds.pause(run.pk, reason="", by=by)
        save(run, [{**item, "title": "Other"} for item in plan(run)], operator)
        answer(only_review(run), reviewer, "approve")
        holds.resume(run.pk, by=by)
        switches.pause_tool("world.lookup", True, by=admin, reason="Test.")
        run = go(run)
        new = redrive(run, 1, operator)
        go(run)
        go(new)
    assert max(map(len, transactions)) == 1
    assert {run.pk, new.pk, *(other.pk for other in at_work)} <= set().union(*transactions)


def test_4_11_a_child_belongs_to_a_hand_off(start: Start) -> None:
    """Who a run's parent is stands in its row, with the effect that handed it over; one without the other can't be."""
    parent, child = start(step("look", "it")), start(step("look", "it"))
    with pytest.raises(IntegrityError, match="runs_run_child_of_handoff"), transaction.atomic():
        models.Run.objects.filter(pk=child.pk).update(parent=parent)
    with pytest.raises(IntegrityError, match="runs_run_child_of_handoff"), transaction.atomic():
        models.Run.objects.filter(pk=child.pk).update(returned=True)
