"""What is taken back before something else is done: the first actions of a new attempt, and of an answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions.refusals import Invalid
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World
from tests.rules.branching import checkpoint, redrive, through
from tests.rules.reversing import ask, done, state

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_1_6_undo_first_comes_before_every_other_move(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """What is proposed again isn't absorbed by what is about to be taken back: it is done again afterwards."""
    run = start(step("look", "it"), step("back", "pay"), step("mild", "mail", id="mail"))
    run = through(run, reviewer)
    row = models.Occurrence.objects.get(root=run, tool="world.back")
    cut = checkpoint(run, "before_irreversible")  # the call is open there, and proposed again at once
    with pytest.raises(Invalid, match="isn't one of this lineage after that checkpoint"):
        redrive(run, run.checkpoint_number, operator, dispositions={row.pk: "undo_first"})
    new = go(redrive(run, cut, operator, dispositions={row.pk: "undo_first"}))
    asked = only_review(new)
    assert asked.action is not None
    assert (asked.action.undo_of_id, models.Action.objects.filter(run=new).count()) == (row.pk, 2)
    verifier.verify()
    answer(asked, reviewer, "approve")
    again = only_review(go(new))
    assert (state(row), len(World.effects("pay"))) == ("undone", 1)
    assert again.action is not None
    assert again.action.tool == "world.back"
    new = through(new, reviewer)
    assert new.status == "succeeded", new.error
    assert [line["name"] for line in World.effects()] == ["pay", "mail", "undo pay", "pay"]
    verifier.verify()


def test_1_6_an_undo_first_that_fails_lets_nothing_else_begin(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """It makes no other move until the undo has succeeded; tried again, it begins with it once more."""
    run = through(start(step("back", "pay"), step("mild", "mail", id="mail")), reviewer)
    row = models.Occurrence.objects.get(root=run, tool="world.back")
    cut = checkpoint(run, "before_irreversible")
    new = go(redrive(run, cut, operator, dispositions={row.pk: "undo_first"}))
    answer(only_review(new), reviewer, "reject", reason="Leave it.")
    new = go(new)
    assert (new.status, state(row)) == ("failed", "standing")
    assert (
        new.error == "What had to be taken back first was not. Not done: rita rejected it. Reason: Leave it."
    )
    assert [line["name"] for line in World.effects()] == ["pay", "mail"]
    verifier.verify()
    answer(only_review(new), operator, "retry")
    asked = only_review(go(new))
    assert asked.action is not None
    assert asked.action.undo_of_id == row.pk
    new = through(new, reviewer)
    assert new.status == "succeeded", new.error
    assert [line["name"] for line in World.effects()] == ["pay", "mail", "undo pay", "pay"]
    verifier.verify()


def test_1_6_an_undo_that_is_open_at_the_cut_is_asked_again_in_the_next_attempt(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """The question of the old attempt closes; the undo is this one's first action."""
    run = through(start(step("back", "pay")), reviewer)
    row = models.Occurrence.objects.get(root=run)
    second = go(
        redrive(run, checkpoint(run, "before_irreversible"), operator, dispositions={row.pk: "undo_first"})
    )
    corrected = {(models.Action.objects.get(run=second, undo_of=row).reply_position, 0): {"occurrence": 1}}
    with pytest.raises(Invalid, match="nothing to correct"):
        redrive(second, second.checkpoint_number, operator, arguments=corrected)
    third = redrive(second, second.checkpoint_number, operator)
    assert go(second).status == "cancelled"
    asked = only_review(go(third))
    assert asked.action is not None
    assert (asked.action.undo_of_id, asked.content["why"]) == (row.pk, "olga asked for it: it went wrong")
    assert through(third, reviewer).status == "succeeded", third.error
    assert (state(row), [line["name"] for line in World.effects()]) == ("undone", ["pay", "undo pay", "pay"])
    verifier.verify()


def test_1_11_undo_it_then_do_this(start: Start, operator: models.User, reviewer: models.User) -> None:
    """The same identity with other arguments: what was done is taken back, and then this one is asked for anew."""
    run = through(start(step("back", "pay")), reviewer)
    row = models.Occurrence.objects.get(root=run)
    action = models.Action.objects.get(run=run)
    edited = {(action.reply_position, action.call_index): {"name": "pay", "amount": "2.00"}}
    new = go(redrive(run, checkpoint(run, "before_irreversible"), operator, arguments=edited))
    question = only_review(new)
    with pytest.raises(Invalid, match="Give a reason"):
        answer(question, reviewer, "undo", reason="")
    answer(question, reviewer, "undo", reason="The first sum was wrong.")
    undo = only_review(go(new))
    assert undo.action is not None
    assert undo.action.undo_of_id == row.pk
    assert undo.content["why"] == "rita asked for it: The first sum was wrong."
    answer(undo, reviewer, "approve")
    last = only_review(go(new))
    assert (state(row), "beside" in last.content) == ("undone", False)
    verifier.verify()
    answer(last, reviewer, "approve")
    new = go(new)
    assert new.status == "succeeded", new.error
    assert [line["name"] for line in World.effects()] == ["pay", "undo pay", "pay"]
    done_last = models.Action.objects.get(run=new, undo_of__isnull=True)
    assert (done_last.status, done_last.arguments()["amount"]) == ("succeeded", "2.00")
    verifier.verify()


def test_1_11_if_it_is_not_taken_back_this_is_asked_with_both_once_more(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Nothing is done beside what stands because of an answer that wanted it gone."""
    run = through(start(step("back", "pay")), reviewer)
    action = models.Action.objects.get(run=run)
    edited = {(action.reply_position, action.call_index): {"name": "pay", "amount": "2.00"}}
    new = go(redrive(run, checkpoint(run, "before_irreversible"), operator, arguments=edited))
    answer(only_review(new), reviewer, "undo", reason="The first sum was wrong.")
    answer(only_review(go(new)), reviewer, "reject", reason="It was right.")
    question = only_review(go(new))
    assert [item["arguments"]["amount"] for item in question.content["beside"]] == ["1.00"]
    answer(question, reviewer, "keep")
    assert go(new).status == "succeeded", new.error
    assert [line["name"] for line in World.effects()] == ["pay"]
    verifier.verify()


def test_1_11_undo_is_offered_only_where_something_takes_it_back(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """A tool without an undo leaves keep and do this too; and an undo isn't asked back about."""
    run = through(start(step("lookup", "pay")), reviewer)
    action = models.Action.objects.get(run=run)
    edited = {(action.reply_position, action.call_index): {"name": "pay", "amount": "2.00"}}
    new = go(redrive(run, checkpoint(run, "before_irreversible"), operator, arguments=edited))
    with pytest.raises(Invalid, match="no answer to this question"):
        answer(only_review(new), reviewer, "undo")
    row = done(start(step("back", "other")), reviewer)
    with pytest.raises(Invalid, match="no answer to this question"):
        answer(only_review(go(ask(row, operator))), reviewer, "ask_back")
