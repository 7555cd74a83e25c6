"""People against the engine: decisions, holds, stops and policy arriving at any moment."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.utils import timezone

from runs import exact, models
from runs.engine import frontier, verifier
from runs.transitions import clocks, decisions, holds, refusals, starts, steps
from runs.transitions.actor import Actor
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]


def test_a_decision_while_the_engine_parks_is_not_lost(start: Start, reviewer: models.User) -> None:
    """The engine has read 'open' and decides to wait; the decision commits first: parking is refused."""
    run = start(step("lookup", "mail"))
    claim = steps.claim(run.pk)
    assert claim is not None
    seen = frontier.load(claim).run.inbox
    models.Run.objects.filter(pk=run.pk).update(inbox=seen + 1)
    models.Fact.objects.create(run=run, number=seen + 1, kind="wake", content={})
    with pytest.raises(refusals.Changed):
        steps.wait(claim, reason="review", seen=seen)
    run.refresh_from_db()
    assert run.status == "running"


def test_only_one_of_many_claims_wins(start: Start) -> None:
    run = start(step("lookup", "mail"))
    won: list[steps.Claim] = []

    def claim() -> None:
        found = steps.claim(run.pk)
        if found is not None:
            won.append(found)
        connection.close()

    threads = [threading.Thread(target=claim) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1


def test_many_deciders_have_one_winner(start: Start, person: Person) -> None:
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    people = [person(f"r{number}", "reviewer") for number in range(6)]
    outcomes: list[str] = []

    def decide(user: models.User, verdict: str) -> None:
        try:
            answer(review, user, verdict)
            outcomes.append("won")
        except refusals.Stale as error:
            outcomes.append(error.message)
        finally:
            connection.close()

    threads = [
        threading.Thread(target=decide, args=(user, "approve" if number % 2 else "reject"))
        for number, user in enumerate(people)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count("won") == 1
    assert all("this first" in outcome for outcome in outcomes if outcome != "won")
    assert models.Decision.objects.count() == 1
    verifier.verify()


def test_two_votes_at_once_reach_a_quorum_of_two(start: Start, person: Person) -> None:
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    models.Review.objects.filter(pk=review.pk).update(quorum=2)

    def decide(user: models.User) -> None:
        answer(review, user, "approve")
        connection.close()

    people = [person(f"q{number}", "reviewer") for number in range(2)]
    threads = [threading.Thread(target=decide, args=(user,)) for user in people]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    review.refresh_from_db()
    assert (review.status, review.votes) == ("approved", 2)
    assert go(run).status == "succeeded"


def test_the_same_form_twice_is_one_decision(start: Start, reviewer: models.User, person: Person) -> None:
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    first = answer(review, reviewer, "approve", token="form-1")
    assert answer(review, reviewer, "approve", token="form-1").pk == first.pk
    with pytest.raises(refusals.Stale, match="rita approved this first"):
        answer(review, reviewer, "reject", token="form-1")
    with pytest.raises(refusals.Stale, match="rita approved this first"):
        answer(review, person("late", "reviewer"), "approve")
    assert models.Decision.objects.count() == 1


def test_an_old_revision_or_digest_is_refused(start: Start, reviewer: models.User) -> None:
    review = only_review(go(start(step("lookup", "mail"))))
    with pytest.raises(refusals.Stale, match="changed since you opened it"):
        answer(review, reviewer, "approve", revision=2)
    with pytest.raises(refusals.Stale, match="changed since you opened it"):
        answer(review, reviewer, "approve", digest=exact.EMPTY)


def test_a_viewer_may_not_decide(start: Start, person: Person) -> None:
    review = only_review(go(start(step("lookup", "mail"))))
    with pytest.raises(refusals.NotYours):
        answer(review, person("vera", "viewer"), "approve")


def test_rejecting_needs_a_reason(start: Start, reviewer: models.User) -> None:
    review = only_review(go(start(step("lookup", "mail"))))
    with pytest.raises(refusals.Invalid, match="Say why"):
        answer(review, reviewer, "reject", reason=" ")


def test_tier_three_needs_the_value_retyped_and_another_person(start: Start, person: Person) -> None:
    both = person("boss", "reviewer", "operator")
    other = person("other", "reviewer")
    run = start(step("costly", "fee"))
    models.Run.objects.filter(pk=run.pk).update(created_by=both)
    review = only_review(go(run))
    with pytest.raises(refusals.NotYours, match="You started this run"):
        answer(review, both, "approve")
    with pytest.raises(refusals.Invalid, match="Retype the amount"):
        answer(review, other, "approve", retype="2.00")
    answer(review, other, "approve")
    assert go(run).status == "succeeded"
    assert len(World.effects("fee")) == 1


def test_without_a_second_person_separation_is_off(start: Start, operator: models.User) -> None:
    operator.groups.add(Group.objects.get(name="reviewer"))
    run = go(start(step("costly", "fee")))
    answer(only_review(run), operator, "approve")
    assert go(run).status == "succeeded"


def test_stop_closes_what_is_open(start: Start, reviewer: models.User, operator: models.User) -> None:
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    holds.stop(run.pk, reason="wrong file", by=Actor(user=operator))
    run = go(run)
    review.refresh_from_db()
    assert (run.status, review.status, World.effects()) == ("cancelled", "superseded", [])
    with pytest.raises(refusals.Stale):
        answer(review, reviewer, "approve")
    verifier.verify()


def test_a_stop_after_the_approval_wins_before_the_intent(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    run = go(start(step("lookup", "mail")))
    answer(only_review(run), reviewer, "approve")
    holds.stop(run.pk, reason="wrong file", by=Actor(user=operator))
    assert go(run).status == "cancelled"
    assert World.effects() == []
    verifier.verify()


def test_paused_starts_nothing_and_resumes_where_it_was(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    run = go(start(step("lookup", "mail")))
    holds.pause(run.pk, reason="lunch", by=Actor(user=operator))
    run.refresh_from_db()
    assert run.status == "paused"
    answer(only_review(run), reviewer, "approve")
    assert go(run).status == "paused"
    assert World.effects() == []
    holds.resume(run.pk, by=Actor(user=operator))
    assert go(run).status == "succeeded"
    assert len(World.effects("mail")) == 1
    verifier.verify()


def test_an_expired_question_closes_the_call_in_words(start: Start, reviewer: models.User) -> None:
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    models.Review.objects.filter(pk=review.pk).update(expires_at=timezone.now())
    with pytest.raises(refusals.Stale, match="expired"):
        answer(review, reviewer, "approve")
    assert clocks.expire_reviews() == 1
    assert clocks.expire_reviews() == 0
    run = go(run)
    assert models.Action.objects.get(run=run).status == "expired"
    assert World.effects() == []
    verifier.verify()


def test_withdrawn_before_the_intent_is_asked_again(start: Start, reviewer: models.User) -> None:
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    answer(review, reviewer, "approve")
    decisions.withdraw(review.pk, by=Actor(user=reviewer))
    run = go(run)
    assert (run.status, World.effects()) == ("waiting", [])
    assert only_review(run).pk != review.pk
    answer(only_review(run), reviewer, "approve")
    assert go(run).status == "succeeded"
    with pytest.raises(refusals.Stale, match="too late"):
        decisions.withdraw(models.Review.objects.filter(run=run).latest("id").pk, by=Actor(user=reviewer))
    verifier.verify()


def test_the_undo_window_delays_the_effect(start: Start, reviewer: models.User) -> None:
    run = go(start(step("lookup", "mail")))
    review = only_review(run)
    models.Review.objects.filter(pk=review.pk).update(undo_seconds=60)
    answer(review, reviewer, "approve")
    run = go(run)
    assert (run.status, run.reason, World.effects()) == ("queued", "undo_window", [])
    with clockwork.ahead(hours=0.1):
        assert go(run).status == "succeeded"


@pytest.mark.parametrize("token", ["", "x" * 65, "a\x00"])
def test_a_form_without_its_token_is_refused(
    start: Start, reviewer: models.User, operator: models.User, token: str
) -> None:
    review = only_review(go(start(step("lookup", "mail"))))
    with pytest.raises(refusals.Invalid, match="load the page again"):
        answer(review, reviewer, "approve", token=token)
    with pytest.raises(refusals.Invalid, match="load the page again"):
        starts.start_run(
            review.run.agent_version.agent.name, input={}, title="", by=Actor(user=operator), token=token
        )
    assert not models.Decision.objects.exists()


def test_one_form_for_two_questions_is_used_once(start: Start, reviewer: models.User) -> None:
    """The same token for two reviews at once: one decision, and one sentence for the other."""
    reviews = [only_review(go(start(step("lookup", f"mail-{number}")))) for number in range(2)]
    ready = threading.Barrier(2)
    outcomes: list[str] = []

    def decide(review: models.Review) -> None:
        ready.wait(10)
        try:
            answer(review, reviewer, "approve", token="one-form")
            outcomes.append("won")
        except refusals.Stale:
            outcomes.append("stale")
        finally:
            connection.close()

    threads = [threading.Thread(target=decide, args=(review,)) for review in reviews]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["stale", "won"]
    assert models.Decision.objects.count() == 1


def test_invisible_characters_are_no_reason(start: Start, reviewer: models.User) -> None:
    review = only_review(go(start(step("lookup", "mail"))))
    with pytest.raises(refusals.Invalid, match="reason"):
        answer(review, reviewer, "approve", reason="\u200b\u00a0")


def test_somebody_elses_start_form_is_refused(start: Start, operator: models.User, person: Person) -> None:
    run = start(step("lookup", "mail"))
    name = run.agent_version.agent.name
    again = starts.start_run(name, input={}, title="", by=Actor(user=operator), token=run.start_token)
    assert again.pk == run.pk
    other = Actor(user=person("ada", "admin"))
    with pytest.raises(refusals.Stale, match="used already"):
        starts.start_run(name, input={}, title="", by=other, token=run.start_token)
