"""A tool that doesn't say what makes two calls the same: a person says whether this is one of those that were done."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from unittest import mock

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions import refusals
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Allowed, World
from tests.rules.branching import checkpoint, redrive
from tests.rules.test_5_wider import said

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


@pytest.fixture(autouse=True)
def undeclared() -> Iterator[None]:
    """Letters of any wording are the same to nobody but a person."""
    with mock.patch.object(Allowed, "identity", None):
        yield


def worded_otherwise(start: Start, operator: models.User) -> tuple[models.Run, models.Review]:
    """Two letters were written; a second attempt words the first one differently, and asks."""
    run = go(
        start(step("allowed", "${input.to}"), step("allowed", "Bob", id="bob"), input={"to": "dear Ann"})
    )
    assert (run.status, len(World.effects())) == ("succeeded", 2)
    new = go(redrive(run, checkpoint(run, "planned"), operator, input={"to": "Dear Ann,"}))
    assert (new.status, len(World.effects())) == ("waiting", 2)
    return new, only_review(new)


def test_1_7_the_question_lists_what_it_may_be(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Every standing effect of the tool that isn't on this path, with its arguments and receipt; one must be named."""
    _, review = worded_otherwise(start, operator)
    shown = [(item["arguments"]["name"], item["receipt"]) for item in review.content["alike"]]
    assert shown == [("Bob", "Did Bob."), ("dear Ann", "Did dear Ann.")]
    with pytest.raises(refusals.Invalid, match="which of them"):
        answer(review, reviewer, "keep")
    with pytest.raises(refusals.Invalid, match="none of the effects"):
        answer(review, reviewer, "keep", which=0)
    with pytest.raises(refusals.Invalid, match="Say why this is done too"):
        answer(review, reviewer, "approve", reason="")


def test_1_7_it_is_this_one(start: Start, operator: models.User, reviewer: models.User) -> None:
    """It is absorbed with the old receipt, told the difference, and no longer listed as something that it may be."""
    new, review = worded_otherwise(start, operator)
    bob, ann = review.content["alike"]
    answer(review, reviewer, "keep", which=ann["occurrence"], reason="the same letter")
    new = go(new)
    assert new.status == "succeeded", new.error  # the letter to Bob is absorbed without a question
    assert len(World.effects()) == 2
    first = models.Action.objects.filter(run=new).order_by("pk")[0]
    assert (first.status, first.occurrence_id) == ("absorbed", ann["occurrence"])
    assert 'name from "Dear Ann," to "dear Ann"' in said(new)
    verifier.verify()
    # Whoever words it so again is told who took it for what.
    third = go(redrive(new, checkpoint(new, "result"), operator, input={"to": "Dear Ann,"}))
    assert third.status == "succeeded", third.error
    models.Action.objects.filter(pk=first.pk).update(occurrence=bob["occurrence"])
    with pytest.raises(verifier.Broken):
        verifier.verify()


def test_1_7_it_is_another(start: Start, operator: models.User, reviewer: models.User) -> None:
    """Approved with a reason, it is a new effect with a key of its own."""
    new, review = worded_otherwise(start, operator)
    answer(review, reviewer, "approve", reason="a second letter")
    new = go(new)
    assert new.status == "succeeded", new.error
    assert [line["name"] for line in World.effects()] == ["dear Ann", "Bob", "Dear Ann,"]
    verifier.verify()


def test_1_7_what_was_taken_for_another_is_asked_about_again(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """A later attempt from before the answer, with the same words, asks and shows what a person said."""
    new, review = worded_otherwise(start, operator)
    answer(review, reviewer, "keep", which=review.content["alike"][1]["occurrence"], reason="the same letter")
    assert go(new).status == "succeeded"
    first = models.Run.objects.get(pk=new.root_id)
    third = go(redrive(new, checkpoint(first, "planned"), operator, input={"to": "Dear Ann,"}))
    assert f"took just this for what was done before, in run {new.pk}" in only_review(third).content["why"]
    assert len(World.effects()) == 2
