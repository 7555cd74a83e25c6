"""Edits: another revision of the same question, never an approval, and never a lower bar."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from runs import exact, models
from runs.engine import preparing, verifier
from runs.transitions import edits, refusals, switches
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import doubted, tomorrow
from tests.engine.world import Costly, World
from tests.rules.branching import redrive

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]
_tokens = itertools.count()


def change(
    review: models.Review, user: models.User, reason: str = "wrong sum", **values: Any
) -> models.Review:
    """Change some of the arguments as somebody who has just seen them."""
    assert review.action is not None
    now = review.action.arguments()
    return edits.edit(
        review.pk,
        edits.Edit(
            arguments=now | values,
            reason=reason,
            revision=review.revision,
            digest=review.digest,
            token=f"edit-{next(_tokens)}",
        ),
        by=Actor(user=user),
    )


def test_5_2_an_edit_is_the_next_revision_of_the_same_question(start: Start, reviewer: models.User) -> None:
    """The same review at revision 2, without votes; what is approved then is what runs, and the agent is told."""
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    first = review.digest
    change(review, reviewer, name="letter", amount="2.00")
    run = go(run)
    again = only_review(run)
    assert (again.pk, again.revision, again.votes) == (review.pk, 2, 0)
    assert again.digest != first
    assert again.title == "Will do letter."
    verifier.verify()
    answer(again, reviewer, "approve")
    run = go(run)
    assert run.status == "succeeded", run.error
    assert [line["name"] for line in World.effects()] == ["letter"]
    rows = models.Revision.objects.filter(action__run=run).order_by("number")
    assert [(row.number, row.author) for row in rows] == [(1, None), (2, reviewer)]
    told = models.Entry.objects.get(run=run, kind="result", content__contains="letter").content["text"]
    assert 'amount from "1.00" to "2.00"; name from "mail" to "letter". Reason: wrong sum' in told
    verifier.verify()


def test_5_2_earlier_votes_are_void(start: Start, reviewer: models.User, person: Person) -> None:
    """One of two has approved, then the other edits: neither vote counts, both may vote on the new one."""
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    models.Review.objects.filter(pk=review.pk).update(quorum=2)
    second = person("rob", "reviewer")
    answer(review, reviewer, "approve")
    review.refresh_from_db()
    change(review, second, amount="2.00")
    run = go(run)
    again = only_review(run)
    assert (again.votes, again.quorum) == (0, 2)
    answer(again, reviewer, "approve")
    assert go(run).status == "waiting"
    answer(again, second, "approve")
    assert go(run).status == "succeeded"
    verifier.verify()


def test_5_2_nothing_is_decided_until_it_is_prepared(start: Start, reviewer: models.User) -> None:
    """Between the edit and its new preview, neither the old nor the new can be approved."""
    run = go(start(step("lookup", "mail")))
    old = only_review(run)
    change(old, reviewer, amount="2.00")
    with pytest.raises(refusals.Stale, match="changed since you opened it"):
        answer(old, reviewer, "approve")
    edited = models.Review.objects.get(pk=old.pk)
    with pytest.raises(refusals.Stale, match="being worked out"):
        answer(edited, reviewer, "approve")
    verifier.verify()
    assert go(run).status == "waiting"
    assert World.effects() == []


def test_5_2_an_approval_in_flight_loses_to_the_edit_or_the_edit_to_it(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """The edit names what was seen: once it is approved, there is nothing left to change."""
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    answer(review, person("rob", "reviewer"), "approve")
    with pytest.raises(refusals.Stale, match="approved this first"):
        change(review, reviewer, amount="2.00")
    assert go(run).status == "succeeded"
    verifier.verify()


def test_5_5_the_same_edit_twice_is_one(start: Start, reviewer: models.User) -> None:
    """A double click on the edit form changes it once."""
    review = only_review(go(start(step("lookup", "mail"))))
    given = edits.Edit(
        arguments={"name": "mail", "amount": "2.00"},
        reason="sum",
        revision=1,
        digest=review.digest,
        token="form-1",
    )
    first = edits.edit(review.pk, given, by=Actor(user=reviewer))
    second = edits.edit(review.pk, given, by=Actor(user=reviewer))
    assert (first.pk, first.revision) == (second.pk, second.revision) == (review.pk, 2)
    assert models.Fact.objects.filter(kind="edited").count() == 1


@pytest.mark.parametrize(
    ("values", "reason", "sentence"),
    [
        ({"amount": 7}, "sum", "world.lookup: amount: input should be a valid string."),
        ({"extra": "x"}, "sum", "extra inputs are not permitted"),
        ({}, "sum", "Nothing is changed"),
        ({"amount": "2.00"}, " ", "Say why you change it"),
    ],
)
def test_5_2_what_does_not_fit_is_refused_in_one_sentence(
    start: Start, reviewer: models.User, values: dict[str, Any], reason: str, sentence: str
) -> None:
    """The tool's schema decides; nothing is stored of what it refuses."""
    review = only_review(go(start(step("lookup", "mail"))))
    with pytest.raises(refusals.Invalid, match=sentence):
        change(review, reviewer, reason, **values)
    review.refresh_from_db()
    assert review.revision == 1
    assert not models.Fact.objects.filter(kind="edited").exists()


def test_2_15_an_edit_never_lowers_the_bar(start: Start, reviewer: models.User, person: Person) -> None:
    """Quorum 2 was asked for, and policy is laxer now: the edited one still needs two, and is never just allowed."""
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    admin = Actor(user=person("ada", "admin"))
    strict = {"name": "Two", "match": {}, "verdict": "review", "quorum": 2, "reason_required": True}
    switches.set_policy({"version": 1, "rules": [strict]}, reason="two eyes", by=admin)
    change(review, reviewer, amount="2.00")
    run = go(run)
    review = only_review(run)
    assert (review.quorum, review.reason_required) == (2, True)
    loose = {"name": "Free", "match": {}, "verdict": "allow"}
    switches.set_policy({"version": 1, "rules": [loose]}, reason="calm", by=admin)
    change(review, reviewer, amount="3.00")
    run = go(run)
    assert (run.status, World.effects()) == ("waiting", [])
    review = only_review(run)
    assert (review.quorum, review.reason_required, review.revision) == (2, True, 3)
    verifier.verify()


def test_2_15_what_policy_forbids_can_not_be_edited_in(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """A verdict 'deny' refuses the edit; the question stays as it was."""
    review = only_review(go(start(step("lookup", "mail"))))
    rule = {"name": "Not two", "match": {"when": 'args.amount == "2.00"'}, "verdict": "deny"}
    document = {"version": 1, "rules": [rule]}
    switches.set_policy(document, reason="incident", by=Actor(user=person("ada", "admin")))
    with pytest.raises(refusals.Invalid, match="Not two"):
        change(review, reviewer, amount="2.00")
    review.refresh_from_db()
    assert review.revision == 1


def test_5_9_who_edits_at_tier_3_does_not_release_it(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """The editor's own release is refused where nothing can be undone; somebody else's is taken."""
    run = go(start(step("costly", "fee")))
    change(only_review(run), reviewer, amount="9.00")
    run = go(run)
    review = only_review(run)
    second = person("rob", "reviewer")
    with pytest.raises(refusals.NotYours, match="You changed these arguments"):
        answer(review, reviewer, "approve")
    answer(review, second, "approve")
    assert go(run).status == "succeeded"
    verifier.verify()


def test_1_3_the_identity_is_the_one_that_runs_and_the_proposed_one_is_kept(
    start: Start, reviewer: models.User
) -> None:
    """pay(7) edited to pay(8): the occurrence is 8's, and that 7 was proposed stays known."""
    run = go(start(step("lookup", "seven")))
    change(only_review(run), reviewer, name="eight")
    run = go(run)
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    action = models.Action.objects.get(run=run)
    occurrence = models.Occurrence.objects.get(root=run)
    assert occurrence.identity == {"name": "eight"}
    assert action.identity_digest == occurrence.identity_digest == exact.digest_of({"name": "eight"})
    assert action.proposed_identity == exact.digest_of({"name": "seven"})
    verifier.verify()


def test_2_8_what_was_sent_is_not_edited(start: Start, reviewer: models.User) -> None:
    """'It did not happen: do it' does the same; other arguments under the same key would be another action."""
    run, question = doubted(start, reviewer)
    answer(question, reviewer, "absent_do", rendered_at=tomorrow())
    run = go(run)
    with pytest.raises(refusals.Stale, match="only the same may be sent again"):
        change(only_review(run), reviewer, amount="2.00")


def test_5_2_a_crash_before_the_new_preview_loses_nothing(start: Start, reviewer: models.User) -> None:
    """The worker dies after it has read the edit: the next one prepares it."""
    run = go(start(step("costly", "fee")))
    change(only_review(run), reviewer, amount="9.00")
    Costly.balance = 3
    with (
        mock.patch.object(preparing, "prepare", side_effect=KeyboardInterrupt),
        pytest.raises(KeyboardInterrupt),
    ):
        go(run)
    verifier.verify()
    models.Run.objects.filter(pk=run.pk).update(lease_until=tomorrow() - (tomorrow() - run.created_at))
    run = go(run)
    review = only_review(run)
    assert (review.revision, review.action and review.action.precondition) == (2, {"balance": 3})
    verifier.verify()


def test_5_2_only_who_may_decide_may_edit(start: Start, reviewer: models.User, operator: models.User) -> None:
    """An operator starts runs; what others approve isn't theirs to change."""
    review = only_review(go(start(step("lookup", "mail"))))
    with pytest.raises(refusals.NotYours, match="reviewer can"):
        change(review, operator, amount="2.00")


def test_5_2_an_edit_to_what_stands_already_closes_the_question(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """A later attempt asks about other arguments; a person makes of them just what was done, and nobody is asked."""
    run = go(start(step("lookup", "mail")))
    number, call = run.checkpoint_number, models.Action.objects.get(run=run)
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    wished = {(call.reply_position, 0): {"name": "mail", "amount": "2.00"}}
    new = go(redrive(run, number, operator, arguments=wished))
    change(only_review(new), reviewer, amount="1.00")
    new = go(new)
    assert new.status == "succeeded", new.error
    assert models.Action.objects.get(run=new).status == "absorbed"
    assert not models.Review.objects.filter(run=new, status="open").exists()
    assert len(World.effects()) == 1
    verifier.verify()
