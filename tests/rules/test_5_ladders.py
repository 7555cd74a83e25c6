"""A question that nobody answers: more people are asked, step by step; at its end policy says, and never approves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions import clocks, desk, ladders, switches
from runs.transitions.actor import Actor
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]
Asked = Callable[..., models.Run]


@pytest.fixture
def asked(start: Start, person: Person) -> Callable[..., models.Run]:
    """Start a run that waits for an answer on these terms."""
    admin = Actor(user=person("ada", "admin"))

    def make(**terms: Any) -> models.Run:
        rule = {"name": "the rule", "verdict": "review", "expires_seconds": 36_000, "due_seconds": 60} | terms
        switches.set_policy({"version": 1, "rules": [rule]}, reason="for the test", by=admin)
        return go(start(step("lookup", "pay")))

    return make


LADDER = [{"after_seconds": 3_600, "groups": ["board"]}, {"after_seconds": 7_200, "groups": ["admin"]}]


def test_steps_ask_more_people_at_their_times_once_each(asked: Asked, reviewer: models.User) -> None:
    """Whoever has put the question off stops no step; nobody is taken off it, and nothing is answered."""
    run = asked(escalate=LADDER)
    desk.snooze(only_review(run).pk, "4h", by=Actor(user=reviewer))
    assert ladders.climb() == 0
    for hours, groups in ((1.1, ["reviewer", "board"]), (2.1, ["reviewer", "board", "admin"])):
        with clockwork.ahead(hours=hours):
            assert (ladders.climb(), ladders.climb()) == (1, 0)
        assert only_review(run).groups == groups
    with clockwork.ahead(hours=9):
        assert ladders.climb() == 0
    assert models.AuditEvent.objects.filter(act="review.escalated").count() == 2
    answer(only_review(run), reviewer, "approve")
    assert go(run).status == "succeeded"
    verifier.verify()


def test_a_missed_step_is_made_up_and_an_answered_question_climbs_no_more(
    asked: Asked, reviewer: models.User
) -> None:
    run = asked(escalate=LADDER)
    with clockwork.ahead(hours=3):
        assert [ladders.climb() for _ in range(3)] == [1, 1, 0]
    assert "admin" in only_review(run).groups
    other = asked(escalate=LADDER)
    answer(only_review(other), reviewer, "approve")
    with clockwork.ahead(hours=3):
        assert ladders.climb() == 0


def test_with_escalate_administrators_have_as_long_again_and_then_it_is_over(asked: Asked) -> None:
    run = asked(on_expiry="escalate")
    with clockwork.ahead(hours=11):
        assert clocks.expire_reviews() == 0
        assert only_review(run).groups == ["reviewer", "admin"]
    with clockwork.ahead(hours=22):
        assert clocks.expire_reviews() == 1
        go(run)
    assert models.Review.objects.get(run=run).status == "expired"
    assert World.effects() == []
    verifier.verify()


def test_with_stay_it_is_overdue_until_somebody_answers_and_no_approval_lasts_for_ever(
    asked: Asked, reviewer: models.User
) -> None:
    """Its end moves on while it is open. An approval that is not used ends with the end that it was given under."""
    run = asked(on_expiry="stay")
    for hours in (11, 22, 33):
        with clockwork.ahead(hours=hours):
            assert clocks.expire_reviews() == 0
    review = only_review(run)
    assert review.status == "open"
    answer(review, reviewer, "approve")
    with clockwork.ahead(hours=60):
        run = go(run)
        assert (run.status, World.effects()) == ("waiting", [])
        assert only_review(run).pk != review.pk  # asked again: the approval had ended
    verifier.verify()
