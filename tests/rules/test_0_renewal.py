"""A person lets a run go on with another version of what it uses: everything open is proposed and read again."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions import holds
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Allowed, Lookup, Unprotected, World
from tests.rules.test_0_pins import other

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_pins_going_on_proposes_anew_and_nothing_approved_counts(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """The approval was for the old version: the call is closed in words, proposed again and read again."""
    run = go(start(step("lookup", "mail"), step("look", "after")))
    old = only_review(run)
    answer(old, reviewer, "approve")
    with other():
        run = go(run)
        answer(only_review(run), operator, "go_on")
        run = go(run)
        old.refresh_from_db()
        again = only_review(run)
        assert (old.status, again.kind, World.effects()) == ("superseded", "action", [])
        assert "has changed since" in again.content["why"]
        first, second = models.Action.objects.filter(run=run).order_by("pk")
        assert (first.status, second.contract) == ("superseded", Lookup.contract())
        verifier.verify()
        answer(again, reviewer, "approve")
        assert go(run).status == "succeeded"
        assert len(World.effects("mail")) == 1
        assert run.pins_id != models.Run.objects.get(pk=run.pk).pins_id or run.renewed_at
    verifier.verify()


def test_pins_what_is_proposed_again_is_read_even_where_policy_allows_it(
    start: Start, operator: models.User
) -> None:
    """Tier 1 went through by policy; after a change of its tool a person reads it."""
    run = start(step("allowed", "draft"))
    holds.pause(run.pk, reason="", by=Actor(user=operator))
    holds.resume(run.pk, by=Actor(user=operator))
    World.absent = "again later"
    run = go(run)
    World.absent = ""
    assert (run.status, run.reason) == ("queued", "backoff")
    with other(Allowed):
        models.Run.objects.filter(pk=run.pk).update(wake_at=run.created_at)
        run = go(run)
        answer(only_review(run), operator, "go_on")
        run = go(run)
        assert (run.status, only_review(run).kind, World.effects()) == ("waiting", "action", [])


def test_pins_what_was_sent_is_asked_about_first(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """A worker dies in an effect, the tool changes: one question whether it happened, one whether the run goes on."""
    run = go(start(step("unprotected", "parcel"), step("allowed", "next")))
    answer(only_review(run), reviewer, "approve")

    def lost() -> None:
        raise ConnectionError("no answer")

    World.after = lost
    run = go(run)
    World.after = None
    doubt = only_review(run)
    assert doubt.kind == "in_doubt"
    holds.pause(run.pk, reason="", by=Actor(user=operator))
    holds.resume(run.pk, by=Actor(user=operator))
    with other(Unprotected):
        run = go(run)
        asked = models.Review.objects.filter(run=run, status="open").order_by("pk")
        assert [review.kind for review in asked] == ["in_doubt", "failure"]
        answer(asked[1], operator, "go_on")
        run = go(run)
        answer(doubt, reviewer, "happened", receipt="Seen.")
        assert go(run).status == "succeeded"
    verifier.verify()


def test_pins_a_run_that_was_let_go_on_proposes_a_doubtful_call_anew_too(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """It did not happen, do it: but its tool is another by now, so the call is closed and proposed again."""
    from tests.engine.test_unknown import tomorrow

    run = go(start(step("unprotected", "parcel")))
    answer(only_review(run), reviewer, "approve")

    def lost() -> None:
        raise ConnectionError("no answer")

    World.before = lost
    run = go(run)
    World.before = None
    doubt = only_review(run)
    holds.pause(run.pk, reason="", by=Actor(user=operator))
    holds.resume(run.pk, by=Actor(user=operator))
    with other(Unprotected):
        run = go(run)
        answer(models.Review.objects.get(run=run, status="open", kind="failure"), operator, "go_on")
        run = go(run)
        answer(doubt, reviewer, "absent_do", rendered_at=tomorrow())
        run = go(run)
        again = only_review(run)
        assert (again.kind, World.effects()) == ("action", [])
        answer(again, reviewer, "approve")
        assert go(run).status == "succeeded"
        assert len(World.effects()) == 1
    verifier.verify()
