"""The wider answers: asked back, done by hand, and what was done before with other arguments."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions import redrives, refusals
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def said(run: models.Run) -> str:
    """The words that closed the run's calls."""
    lines = models.Entry.objects.filter(run=run, kind="result").order_by("position")
    return " ".join(str(line.content["text"]) for line in lines)


def test_5_6_asking_back_closes_the_call_with_the_question(start: Start, reviewer: models.User) -> None:
    """The revision is refused with a question, so that the agent can be asked; the words carry it."""
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    with pytest.raises(refusals.Invalid, match="Write your question"):
        answer(review, reviewer, "ask_back", reason=" ")
    answer(review, reviewer, "ask_back", reason="Which of the two invoices?")
    run = go(run)
    review.refresh_from_db()
    assert (review.status, World.effects()) == ("answered", [])
    assert models.Action.objects.get(run=run).status == "rejected"
    assert "rita asks: Which of the two invoices?" in said(run)
    verifier.verify()


def test_5_6_done_by_hand_stands_and_is_not_done_again(start: Start, reviewer: models.User) -> None:
    """held -> succeeded with a receipt, and a standing occurrence that this action owns, without any send."""
    run = go(start(step("lookup", "mail")))
    with pytest.raises(refusals.Invalid, match="what proves"):
        answer(only_review(run), reviewer, "by_hand", reason="it was urgent")
    answer(only_review(run), reviewer, "by_hand", reason="it was urgent", receipt="Parcel 17")
    run = go(run)
    assert (run.status, World.effects()) == ("succeeded", [])
    action = models.Action.objects.get(run=run)
    occurrence = models.Occurrence.objects.get(root=run)
    assert (occurrence.state, occurrence.owner_id) == ("standing", action.pk)
    assert (action.status, action.attempt) == ("succeeded", 0)
    assert "Parcel 17" in said(run)
    verifier.verify()


def again(run: models.Run, by: models.User, amount: str) -> models.Run:
    """Another attempt from the checkpoint before the effect, with another amount."""
    call = models.Action.objects.get(run=run)
    cut = (
        models.Checkpoint.objects.filter(run=run, position__gte=call.reply_position)
        .order_by("number")
        .first()
    )
    assert cut is not None
    assert cut.number is not None
    place = (call.reply_position, call.call_index)
    new = redrives.redrive(
        run.pk,
        checkpoint=cut.number,
        reason="another sum",
        by=Actor(user=by),
        token=f"again-{run.pk}",
        arguments={place: {"name": "mail", "amount": amount}},
    )
    return go(new)


@pytest.mark.parametrize(
    ("verdict", "effects", "status"), [("keep", 1, "absorbed"), ("approve", 2, "succeeded")]
)
def test_1_11_the_same_with_other_arguments_shows_both(
    start: Start, reviewer: models.User, operator: models.User, verdict: str, effects: int, status: str
) -> None:
    """The old receipt and both arguments are shown; it is kept with the difference told, or done too, never silent."""
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    assert run.status == "succeeded"
    new = again(run, operator, "2.00")
    assert (new.status, len(World.effects("mail"))) == ("waiting", 1)
    review = only_review(new)
    shown = review.content["beside"]
    assert [(item["arguments"]["amount"], item["receipt"]) for item in shown] == [("1.00", "Did mail.")]
    with pytest.raises(refusals.Invalid, match=r"Say why this is done too|Give a reason"):
        answer(review, reviewer, verdict, reason=" ")
    answer(review, reviewer, verdict, reason="as agreed")
    new = go(new)
    assert new.status == "succeeded", new.error
    assert len(World.effects("mail")) == effects
    assert models.Action.objects.get(run=new).status == status
    if verdict == "keep":
        assert 'amount from "2.00" to "1.00"' in said(new)
    verifier.verify()


def test_1_11_keeping_is_offered_only_where_something_was_done(start: Start, reviewer: models.User) -> None:
    """There is nothing to keep in a first proposal."""
    review = only_review(go(start(step("lookup", "mail"))))
    with pytest.raises(refusals.Invalid, match="no answer to this question"):
        answer(review, reviewer, "keep")
