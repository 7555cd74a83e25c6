"""What policy asks about one call: the same in other work (1.16), a target never reached, what the arguments say."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

import pytest
from django.utils import timezone

from runs import models
from runs.engine import verifier
from runs.transitions import switches
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]


def costs(name: str, amount: str) -> dict[str, Any]:
    """A step that does this for so much."""
    return step("lookup", name, **{"with": {"name": name, "amount": amount}})


@pytest.fixture
def rule(person: Person) -> Callable[..., None]:
    """Put a rule in force before one that allows everything."""
    admin = Actor(user=person("ada", "admin"))

    def put(match: dict[str, Any], **terms: Any) -> None:
        first = {"name": "the rule", "match": match, "verdict": "review"} | terms
        document = {"version": 1, "rules": [first, {"name": "rest", "verdict": "allow"}]}
        switches.set_policy(document, reason="for the test", by=admin)

    return put


def test_1_16_what_was_done_in_other_work_is_asked_about_within_its_days(
    start: Start, reviewer: models.User, rule: Callable[..., None]
) -> None:
    """A new start instead of a re-drive does everything again: policy can ask, for as long as it says."""
    rule({"seen_elsewhere": 7})
    assert go(start(step("lookup", "pay 7"))).status == "succeeded"
    again = go(start(step("lookup", "pay 7")))
    question = only_review(again)
    assert (again.status, question.content["rule"]) == ("waiting", "the rule")
    assert len(World.effects("pay 7")) == 1
    answer(question, reviewer, "reject", reason="it was paid")
    assert go(again).status == "succeeded"
    assert go(start(step("lookup", "pay 8"))).status == "succeeded"  # another identity
    verifier.verify()
    models.Occurrence.objects.update(settled_at=timezone.now() - datetime.timedelta(days=8))
    assert go(start(step("lookup", "pay 7"))).status == "succeeded"


def test_a_target_is_asked_about_the_first_time_that_it_is_reached(
    start: Start, reviewer: models.User, rule: Callable[..., None]
) -> None:
    """The target is what the tool's preview says: which is asked for at the proposal, because a rule wants to know."""
    rule({"first_time": True})
    first = go(start(step("allowed", "ann")))
    answer(only_review(first), reviewer, "approve")
    assert go(first).status == "succeeded"
    assert go(start(step("allowed", "ann"))).status == "succeeded"
    other = go(start(step("allowed", "bob")))
    assert other.status == "waiting"
    assert len(World.effects("ann")) == 2
    assert World.effects("bob") == []
    verifier.verify()


def test_what_the_arguments_say_decides_and_an_edit_is_asked_about_too(
    start: Start, rule: Callable[..., None]
) -> None:
    """A condition that fails on a call never allows it."""
    rule({"when": "double(args.amount) > 100.0"}, verdict="deny")
    low = go(start(step("lookup", "low")))
    assert (low.status, len(World.effects("low"))) == ("succeeded", 1)
    high = go(start(costs("high", "250.00")))
    assert World.effects("high") == []
    assert models.Action.objects.get(run=high).status == "denied"
    odd = go(start(costs("odd", "much")))
    assert "could not be applied" in only_review(odd).content["why"]
    assert World.effects("odd") == []
    verifier.verify()


def test_what_is_asked_about_one_call_is_asked_again_before_it_starts(
    start: Start, reviewer: models.User, person: Person, rule: Callable[..., None]
) -> None:
    """Approved under one policy, forbidden by the next one's condition: it does not start."""
    rule({"when": "args.name == 'pay'"})
    run = go(start(step("lookup", "pay")))
    answer(only_review(run), reviewer, "approve")
    rule({"when": "args.name.startsWith('p') && run.attempt == 1"}, verdict="deny")
    go(run)
    assert models.Action.objects.get(run=run).status == "denied"
    assert World.effects() == []
    verifier.verify()


def test_a_condition_may_look_at_what_the_run_has_used(start: Start, rule: Callable[..., None]) -> None:
    rule({"when": "budget.steps.used > 3"})
    run = go(start(*(step("lookup", f"n{index}", id=f"s{index}") for index in range(4))))
    assert run.status == "waiting"
    assert 0 < len(World.effects()) < 4
    verifier.verify()
