"""Two approvers at once: each vote is counted on the review's row, and the second one closes it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection

from runs import models
from runs.engine import verifier
from runs.transitions import refusals
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]
ROUNDS = 10


def at_once(*acts: Callable[[], object]) -> list[Exception]:
    """Do these at the same moment, and return what was refused."""
    barrier, refused = threading.Barrier(len(acts)), list[Exception]()

    def one(act: Callable[[], object]) -> None:
        try:
            barrier.wait(10)
            act()
        except refusals.Refused as error:
            refused.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=[act]) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return refused


def two_needed(start: Start, number: int) -> models.Review:
    """A question that needs two people."""
    review = only_review(go(start(step("lookup", f"pay {number}"))))
    models.Review.objects.filter(pk=review.pk).update(quorum=2)
    review.refresh_from_db()
    return review


def test_5_1_two_votes_at_once_reach_the_quorum(start: Start, reviewer: models.User, person: Person) -> None:
    """Counted by each for itself it would stay open with 2 of 2."""
    other = person("nora", "reviewer")
    for number in range(ROUNDS):
        review = two_needed(start, number)
        assert (
            at_once(partial(answer, review, reviewer, "approve"), partial(answer, review, other, "approve"))
            == []
        )
        review.refresh_from_db()
        assert (review.status, review.votes) == ("approved", 2)
        assert go(review.run).status == "succeeded"
    assert len(World.effects()) == ROUNDS


def test_5_1_the_first_refusal_closes(start: Start, reviewer: models.User, person: Person) -> None:
    """Whatever the other one says at the same moment: one of the orders, never both."""
    other = person("nora", "reviewer")
    for number in range(ROUNDS):
        review = two_needed(start, number)
        at_once(partial(answer, review, reviewer, "approve"), partial(answer, review, other, "reject"))
        review.refresh_from_db()
        assert review.status == "rejected"
        go(review.run)
    assert World.effects() == []
    verifier.verify()


def test_5_1_a_voter_without_the_right_at_the_start_does_not_count(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """At the intent each voter's right is checked again; it is asked anew."""
    other = person("nora", "reviewer")
    review = two_needed(start, 1)
    answer(review, reviewer, "approve")
    answer(review, other, "approve")
    other.groups.clear()
    run = go(review.run)
    assert (run.status, World.effects()) == ("waiting", [])
    assert "an approver no longer has the right" in only_review(run).content["why"]
