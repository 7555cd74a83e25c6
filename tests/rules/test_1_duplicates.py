"""The same identity twice on one path: numbers go by release, and the second is never simply allowed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions import refusals, starts
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World
from tests.rules.test_4_order import rows

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def numbers(run: models.Run) -> dict[int, int]:
    """The number of the occurrence that each call of the run's reply has, by its place in the reply."""
    done = models.Action.objects.filter(run=run, occurrence__isnull=False).select_related("occurrence")
    return {row.call_index: row.occurrence.n for row in done if row.occurrence is not None}


def test_1_9_the_second_of_two_in_one_reply_is_asked_about_whatever_policy_allows(
    start: Start, reviewer: models.User
) -> None:
    """Both saw nothing standing: the first is done; the second names it, and is done too once a person says so."""
    run = go(start(rows("allowed", "pay", "pay")))
    assert (run.status, len(World.effects("pay"))) == ("waiting", 1)
    first, second = models.Action.objects.filter(run=run).order_by("call_index")
    assert (first.status, second.status, second.duplicate_of_id) == ("succeeded", "held", first.pk)
    question = only_review(run)
    assert "already proposed or done" in question.content["why"]
    answer(question, reviewer, "approve")
    assert go(run).status == "succeeded"
    assert numbers(run) == {0: 0, 1: 1}
    assert len({line["key"] for line in World.effects("pay")}) == 2
    verifier.verify()


def test_1_9_numbers_are_given_in_order_of_release(start: Start, reviewer: models.User) -> None:
    """Approvals in the other order swap the numbers and nothing else: each call is one effect under its own key."""
    run = go(start(rows("lookup", "pay", "pay")))
    first, second = models.Review.objects.filter(run=run).order_by("pk")
    answer(second, reviewer, "approve")
    run = go(run)
    assert numbers(run) == {1: 0}
    answer(first, reviewer, "approve")
    assert go(run).status == "succeeded"
    assert numbers(run) == {0: 1, 1: 0}
    assert len({line["key"] for line in World.effects("pay")}) == 2
    verifier.verify()


def test_1_9_a_later_call_with_the_same_identity_is_a_duplicate_too(
    start: Start, reviewer: models.User
) -> None:
    """It isn't absorbed: on this path it was done already, so a person says whether it is meant."""
    run = go(start(step("allowed", "pay"), step("allowed", "pay", id="twice")))
    assert (run.status, len(World.effects("pay"))) == ("waiting", 1)
    first, second = models.Action.objects.filter(run=run).order_by("pk")
    assert second.duplicate_of_id == first.pk
    answer(only_review(run), reviewer, "reject", reason="once is enough")
    assert go(run).status == "succeeded"
    assert len(World.effects("pay")) == 1
    verifier.verify()


def test_1_16_a_start_that_is_sent_twice_is_one_run(
    start: Start, operator: models.User, person: Callable[..., models.User]
) -> None:
    """A double click, and a program that asks again, get the run that their form has made; nobody else does."""
    run = start(step("allowed", "draft"))

    def again(by: models.User, **more: str) -> models.Run:
        given: dict[str, Any] = {"input": {}, "title": "A test", "token": run.start_token, **more}
        return starts.start_run(run.agent_version.agent.name, by=Actor(user=by), **given)

    assert again(operator).pk == run.pk
    # Both looked before either had written: the second one's row is refused, and it gets the first one's run.
    looked = models.Run.objects.none()
    with mock.patch.object(models.Run.objects, "filter", return_value=looked):
        assert again(operator).pk == run.pk
    with pytest.raises(refusals.Stale):
        again(person("otto", "operator"))
    assert go(run).status == "succeeded"
    assert again(operator).pk == run.pk
    assert len(World.effects("draft")) == 1
    assert models.AuditEvent.objects.filter(act="run.started").count() == models.Run.objects.count() == 1
