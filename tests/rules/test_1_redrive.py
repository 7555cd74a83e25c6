"""Occurrences over the attempts of a lineage: what stands is absorbed, and nothing is done twice unasked."""

from __future__ import annotations

from collections.abc import Callable
from unittest import mock

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions import switches
from runs.transitions.actor import Actor
from runs.transitions.refusals import Invalid
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import crash, tomorrow
from tests.engine.world import Allowed, World
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_1_1_an_effect_after_the_cut_is_absorbed(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """What a former attempt did after the checkpoint isn't done again, and nobody is asked about it."""
    run = through(start(step("look", "it"), step("lookup", "pay")), reviewer)
    assert run.status == "succeeded"
    new = redrive(run, checkpoint(run, "planned"), operator)
    assert go(new).status == "succeeded", new.error
    assert len(World.effects("pay")) == 1
    action = models.Action.objects.get(run=new)
    assert (action.status, models.Review.objects.filter(run=new).count()) == ("absorbed", 0)
    verifier.verify()


def test_1_1_an_effect_before_the_cut_is_not_done_again_by_a_new_call(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """What lies behind the checkpoint stays closed; the new attempt goes on after it."""
    run = through(start(step("lookup", "pay"), step("lookup", "post", id="post")), reviewer)
    new = redrive(run, checkpoint(run, "result"), operator)
    assert go(new).status == "succeeded", new.error
    assert [line["name"] for line in World.effects()] == ["pay", "post"]
    assert [row.tool for row in models.Action.objects.filter(run=new)] == ["world.lookup"]
    verifier.verify()


def test_1_1_a_cut_right_before_the_effect_absorbs_it(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """The checkpoint that stands on the intent itself leaves the call open: it is opened again, and absorbed."""
    run = through(start(step("lookup", "pay")), reviewer)
    new = redrive(run, checkpoint(run, "before_irreversible"), operator)
    assert go(new).status == "succeeded", new.error
    assert len(World.effects()) == 1
    assert models.Action.objects.get(run=new).status == "absorbed"
    verifier.verify()


def test_1_6_again_is_a_single_waiver_and_always_asked(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """What may happen once more happens once more after a review; the next such call takes over what stands."""
    run = go(start(step("allowed", "pay"), step("allowed", "pay", id="twice")))
    run = through(run, reviewer)
    assert (run.status, len(World.effects("pay"))) == ("succeeded", 2)
    first, second = models.Occurrence.objects.filter(root=run).order_by("n")
    number = checkpoint(run, "planned")
    with pytest.raises(Invalid, match="isn't one of this lineage after that checkpoint"):
        redrive(run, run.checkpoint_number, operator, dispositions={first.pk: "again"})
    new = redrive(run, number, operator, dispositions={first.pk: "again", second.pk: "keep"})
    asked = only_review(go(new))
    assert "done by an earlier attempt" in asked.content["why"]
    new = through(new, reviewer)
    assert new.status == "succeeded", new.error
    assert len(World.effects("pay")) == 3
    assert [row.status for row in models.Action.objects.filter(run=new).order_by("pk")] == [
        "succeeded",
        "absorbed",
    ]
    assert new.waivers == {str(first.pk): models.Action.objects.filter(run=new).order_by("pk")[0].pk}
    verifier.verify()
    models.Run.objects.filter(pk=new.pk).update(waivers={str(first.pk): None})
    with pytest.raises(verifier.Broken, match="may happen once more"):
        verifier.verify()


def test_1_3_what_a_person_refused_is_never_simply_allowed(
    start: Start, operator: models.User, reviewer: models.User, person: Callable[..., models.User]
) -> None:
    """A re-drive from before a refusal asks again whatever policy says, and shows who refused it and why."""
    run = go(start(step("lookup", "pay")))
    answer(only_review(run), reviewer, "reject", reason="Already paid in cash.")
    run = go(run)
    everything = {"version": 1, "rules": [{"name": "All goes", "verdict": "allow"}]}
    switches.set_policy(everything, reason="for a test", by=Actor(user=person("ada", "admin")))
    new = go(redrive(run, checkpoint(run, "planned"), operator))
    asked = only_review(new)
    assert asked.content["why"] == f"rita rejected just this in run {run.pk}: Already paid in cash."
    assert World.effects() == []


def test_1_7_without_identity_a_later_attempt_is_asked(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Nothing says what makes two calls of the tool the same: other words may be the same effect, so a person looks."""
    with mock.patch.object(Allowed, "identity", None):
        run = go(start(step("allowed", "${input.to}"), input={"to": "dear Ann"}))
        assert (run.status, len(World.effects())) == ("succeeded", 1)
        new = go(redrive(run, checkpoint(run, "planned"), operator, input={"to": "Dear Ann,"}))
        assert "nothing declares what makes it the same" in only_review(new).content["why"]
        assert len(World.effects()) == 1
        # The very same arguments are the same effect, and nobody is asked.
        again = go(redrive(new, checkpoint(run, "planned"), operator))
        go(new)
        assert go(again).status == "succeeded", again.error
        assert len(World.effects()) == 1
        verifier.verify()


def test_1_8_another_declaration_sends_the_call_to_review(start: Start, operator: models.User) -> None:
    """Receipts under another declaration of identity match nothing silently."""
    run = go(start(step("allowed", "pay")))
    with mock.patch.object(Allowed, "identity", ("name", "amount")):
        new = go(redrive(run, checkpoint(run, "planned"), operator))
        assert "declared otherwise then" in only_review(new).content["why"]
    assert len(World.effects()) == 1


def test_1_3_what_a_person_made_something_else_is_never_simply_allowed(
    start: Start, operator: models.User, reviewer: models.User, person: Callable[..., models.User]
) -> None:
    """Whoever corrected the arguments is shown in a later attempt that proposes the old ones again."""
    run = go(start(step("lookup", "pay")))
    number = run.checkpoint_number
    action = models.Action.objects.get(run=run)
    edited = {(action.reply_position, 0): {"name": "pay another"}}
    second = redrive(run, number, operator, arguments=edited)
    go(run)
    second = through(second, reviewer)
    everything = {"version": 1, "rules": [{"name": "All goes", "verdict": "allow"}]}
    switches.set_policy(everything, reason="for a test", by=Actor(user=person("ada", "admin")))
    third = go(redrive(run, checkpoint(run, "planned"), operator))
    assert (
        f"olga changed just this into something else in run {second.pk}" in only_review(third).content["why"]
    )
    assert [line["name"] for line in World.effects()] == ["pay another"]
    verifier.verify()


def test_1_15_what_an_earlier_attempt_gave_up_is_asked_about_in_the_one_that_waits_for_it(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """The unknown effect blocks its identity in every attempt; whoever waits for it asks, and the answer counts."""
    run = go(start(step("unprotected", "pay", required=False)))
    answer(only_review(run), reviewer, "approve")
    crash(run, before=True)
    answer(only_review(go(run)), reviewer, "unknown")
    assert go(run).status == "succeeded"
    new = go(redrive(run, checkpoint(run, "planned"), operator))
    assert (new.status, new.reason) == ("waiting", "blocked")
    question = only_review(new)
    assert question.action is not None
    assert (question.kind, question.action.run_id) == ("in_doubt", run.pk)
    answer(question, reviewer, "absent_leave", rendered_at=tomorrow())
    answer(only_review(go(new)), reviewer, "approve")
    assert go(new).status == "succeeded", new.error
    assert len(World.effects("pay")) == 1
    verifier.verify()
