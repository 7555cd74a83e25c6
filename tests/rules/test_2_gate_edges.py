"""The ways back from an approval, and what an approval covers."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.utils import timezone

from runs import models
from runs.engine import preparing, verifier
from runs.transitions import decisions, holds, refusals, switches
from runs.transitions.actor import Actor
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import doubted, released, tomorrow
from tests.engine.world import Costly, World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]


def policy(person: Person, **rule: Any) -> None:
    """Put a policy with one rule for everything in force."""
    document = {"version": 1, "rules": [{"name": "One for all", "match": {}, **rule}]}
    switches.set_policy(document, reason="a test", by=Actor(user=person("ada", "admin")))


def test_2_5_an_approval_covers_another_send_of_the_same(start: Start, reviewer: models.User) -> None:
    """Connection refused doesn't burn the approval: the same action is sent again on it, until it expires."""
    run = released(start, reviewer, "lookup")
    World.absent = "again: connection refused"
    go(run)
    World.absent = ""
    with clockwork.ahead(hours=1):
        run = go(run)
    assert run.status == "succeeded", run.error
    review = models.Review.objects.get(run=run)
    assert review.consumed_by == models.Action.objects.get(run=run)
    assert len(World.effects("mail")) == 1
    verifier.verify()


def test_2_5_after_its_end_it_covers_nothing(start: Start, reviewer: models.User) -> None:
    """The second send waits until the approval has expired: it is asked again."""
    run = released(start, reviewer, "lookup")
    World.absent = "again: connection refused"
    go(run)
    World.absent = ""
    with clockwork.ahead(hours=25):
        run = go(run)
        assert (run.status, World.effects()) == ("waiting", [])
        assert "expired" in only_review(run).content["why"]
    verifier.verify()


def test_2_6_an_undo_window_beyond_the_end_is_extended_first(start: Start, reviewer: models.User) -> None:
    """Approved a second before the end with a longer undo window, it could never run: extend, then approve."""
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    end = timezone.now() + datetime.timedelta(seconds=20)
    models.Review.objects.filter(pk=review.pk).update(undo_seconds=30, expires_at=end)
    review.refresh_from_db()
    with pytest.raises(refusals.Stale, match="extend it first"):
        answer(review, reviewer, "approve")
    with pytest.raises(refusals.Invalid, match="Say why"):
        decisions.extend(review.pk, reason=" ", by=Actor(user=reviewer))
    longer = decisions.extend(review.pk, reason="Still reading.", by=Actor(user=reviewer))
    assert longer.expires_at is not None
    assert longer.expires_at > end + datetime.timedelta(hours=1)
    event = models.AuditEvent.objects.get(act="review.extended")
    assert event.content["before"] == end.isoformat()
    assert event.content["reason"] == "Still reading."
    answer(review, reviewer, "approve")
    with clockwork.ahead(hours=0.1):
        assert go(run).status == "succeeded"
    verifier.verify()


def test_2_6_only_who_may_decide_extends_and_only_what_is_open(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """More time is an act of those who may decide, before the end."""
    review = only_review(go(start(step("lookup", "mail"))))
    with pytest.raises(refusals.NotYours, match="reviewer can"):
        decisions.extend(review.pk, reason="more", by=Actor(user=operator))
    with clockwork.ahead(hours=25), pytest.raises(refusals.Stale, match="can't be extended"):
        decisions.extend(review.pk, reason="more", by=Actor(user=reviewer))


def test_2_7_a_raised_quorum_keeps_the_valid_votes(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """Approved by one, then policy asks for two: the same question is open again and needs one more."""
    run = released(start, reviewer, "lookup")
    policy(person, verdict="review", quorum=2)
    run = go(run)
    assert (run.status, World.effects()) == ("waiting", [])
    review = only_review(run)
    assert (review.votes, review.quorum) == (1, 2)
    assert "more people" in review.content["why"]
    verifier.verify()
    with pytest.raises(refusals.NotYours, match="somebody else"):
        answer(review, reviewer, "approve")
    answer(review, person("rob", "reviewer"), "approve")
    assert go(run).status == "succeeded"
    verifier.verify()


def test_2_7_a_vote_in_the_gap_is_not_asked_twice(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """The missing vote comes before the question was drawn anew: it counts, and nothing is left open."""
    run = released(start, reviewer, "lookup")
    policy(person, verdict="review", quorum=2)
    second = person("rob", "reviewer")
    review = models.Review.objects.get(run=run)

    def vote() -> None:
        if models.Review.objects.get(pk=review.pk).status == "open":
            answer(review, second, "approve")

    real = preparing.prepare

    def late(*args: Any) -> None:
        vote()
        real(*args)

    with mock.patch.object(preparing, "prepare", late):
        run = go(run)
    assert run.status == "succeeded", run.error
    assert models.Review.objects.filter(run=run, status="open").count() == 0
    verifier.verify()


def test_2_7_what_policy_forbids_now_is_denied(start: Start, reviewer: models.User, person: Person) -> None:
    """Approved, and then forbidden: closed as denied, with the rule's name, and never sent."""
    run = released(start, reviewer, "lookup")
    policy(person, verdict="deny")
    run = go(run)
    assert World.effects() == []
    assert models.Action.objects.get(run=run).status == "denied"
    assert models.Review.objects.get(run=run, kind="action").status == "superseded"
    verifier.verify()


def test_2_7_a_laxer_policy_closes_no_question(start: Start, reviewer: models.User, person: Person) -> None:
    """Policy allows it now; whoever was asked is still asked, and may refuse."""
    run = go(start(step("lookup", "mail")))
    policy(person, verdict="allow")
    models.Run.objects.filter(pk=run.pk).update(status="queued", wake_at=timezone.now())
    run = go(run)
    assert (run.status, World.effects()) == ("waiting", [])
    answer(only_review(run), reviewer, "reject")
    go(run)
    assert World.effects() == []


def test_2_7_a_world_that_keeps_changing_is_said_so(start: Start, person: Person) -> None:
    """The precondition differs a second time in a row: the question says that it keeps changing."""
    run = go(start(step("costly", "fee")))
    reviewer = person("rob", "reviewer")
    for balance, why in ((5, "the world changed since"), (7, "keeps changing")):
        answer(only_review(run), reviewer, "approve")
        Costly.balance = balance
        run = go(run)
        assert why in only_review(run).content["why"]
    assert World.effects() == []
    answer(only_review(run), reviewer, "approve")
    assert go(run).status == "succeeded"
    verifier.verify()


def test_2_8_do_it_is_asked_under_todays_policy(start: Start, reviewer: models.User, person: Person) -> None:
    """'It did not happen: do it' is a wish: the same revision is held under the policy of today."""
    run, question = doubted(start, reviewer)
    policy(person, verdict="review", quorum=2)
    answer(question, reviewer, "absent_do", rendered_at=tomorrow())
    run = go(run)
    again = only_review(run)
    assert (again.kind, again.quorum, again.revision) == ("action", 2, 1)
    assert World.effects() == []
    verifier.verify()


def test_2_8_after_a_stop_it_is_not_offered(start: Start, reviewer: models.User) -> None:
    """A run that is being stopped starts nothing: only 'leave it' is left of 'it did not happen'."""
    run, question = doubted(start, reviewer)
    holds.stop(run.pk, reason="enough", by=Actor(user=reviewer))
    with pytest.raises(refusals.Invalid, match="leave it"):
        answer(question, reviewer, "absent_do", rendered_at=tomorrow())
    answer(question, reviewer, "absent_leave", rendered_at=tomorrow())
    assert go(run).status == "cancelled"
    assert World.effects() == []
    verifier.verify()
