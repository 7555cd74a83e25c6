"""A worker dies around an effect: what can be found out is found out, the rest is asked, nothing is done twice."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from django.db.models import F
from django.utils import timezone

from runs import models
from runs.engine import verifier
from runs.transitions import evidence, holds, refusals
from runs.transitions.actor import Actor
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


class Killed(BaseException):
    """Stands for kill -9: nothing of the engine catches it."""


def kill() -> None:
    """Die here."""
    raise Killed


def crash(run: models.Run, *, before: bool = False) -> None:
    """Advance until the effect and die before or after it; the lease is over right away."""
    if before:
        World.before = kill
    else:
        World.after = kill
    with pytest.raises(Killed):
        go(run)
    World.before = World.after = None
    expire_lease(run)


def expire_lease(run: models.Run) -> None:
    """Let the lease of a dead worker be over."""
    past = timezone.now() - datetime.timedelta(seconds=1)
    assert models.Run.objects.filter(pk=run.pk, status="running").update(lease_until=past) == 1


def tomorrow() -> datetime.datetime:
    """A moment at which every horizon is over."""
    return timezone.now() + datetime.timedelta(days=1)


def released(start: Start, reviewer: models.User, tool: str) -> models.Run:
    """A run whose one effect is approved."""
    run = go(start(step(tool, "mail")))
    answer(only_review(run), reviewer, "approve")
    return run


@pytest.mark.parametrize("before", [True, False])
def test_idempotent_is_sent_again_under_its_key(start: Start, reviewer: models.User, before: bool) -> None:
    run = released(start, reviewer, "idempotent")
    crash(run, before=before)
    run = go(run)
    assert run.status == "succeeded", run.error
    assert len(World.effects("mail")) == 1
    intents = models.Entry.objects.filter(run=run, kind="intent").order_by("position")
    assert [line.content["attempt"] for line in intents] == [1, 2]
    assert len({line.content["key"] for line in intents}) == 1
    verifier.verify()


def test_lookup_finds_what_happened(start: Start, reviewer: models.User) -> None:
    run = released(start, reviewer, "lookup")
    crash(run)
    run = go(run)
    assert run.status == "succeeded", run.error
    assert len(World.effects("mail")) == 1
    verifier.verify()


def test_lookup_counts_absence_only_after_the_horizon(start: Start, reviewer: models.User) -> None:
    run = released(start, reviewer, "lookup")
    crash(run, before=True)
    run = go(run)
    assert (run.status, run.reason) == ("queued", "horizon")
    assert World.effects() == []
    assert models.Review.objects.filter(run=run, status="open").count() == 0
    assert run.wake_at == models.Occurrence.objects.get(root=run).horizon
    with clockwork.ahead(hours=1):
        run = go(run)
    assert run.status == "succeeded", run.error
    assert len(World.effects("mail")) == 1
    assert models.Occurrence.objects.filter(root=run).count() == 1
    verifier.verify()


def test_unprotected_is_asked_at_once(start: Start, reviewer: models.User) -> None:
    run = released(start, reviewer, "unprotected")
    crash(run)
    run = go(run)
    assert (run.status, run.reason) == ("waiting", "review")
    review = only_review(run)
    assert review.kind == "in_doubt"
    assert models.Occurrence.objects.get(root=run).state == "unknown"
    answer(review, reviewer, "happened", receipt="Seen in the sent folder.")
    run = go(run)
    assert run.status == "succeeded"
    assert len(World.effects("mail")) == 1
    assert models.Occurrence.objects.get(root=run).state == "standing"
    verifier.verify()


def doubted(start: Start, reviewer: models.User, *, before: bool = True) -> tuple[models.Run, models.Review]:
    """A run that asks whether its unprotected effect happened."""
    run = released(start, reviewer, "unprotected")
    crash(run, before=before)
    run = go(run)
    return run, only_review(run)


def test_absence_is_refused_before_the_horizon(start: Start, reviewer: models.User) -> None:
    _, review = doubted(start, reviewer)
    with pytest.raises(refusals.Invalid, match="may still arrive"):
        answer(review, reviewer, "absent_do", rendered_at=timezone.now())
    review.refresh_from_db()
    assert review.status == "open"


def test_absent_do_asks_for_a_release_and_does_it_under_the_same_key(
    start: Start, reviewer: models.User
) -> None:
    run, review = doubted(start, reviewer)
    answer(review, reviewer, "absent_do", rendered_at=tomorrow())
    run = go(run)
    assert run.status == "waiting"
    assert World.effects() == []
    again = only_review(run)
    assert again.kind == "action"
    answer(again, reviewer, "approve")
    run = go(run)
    assert run.status == "succeeded"
    assert len(World.effects("mail")) == 1
    assert models.Occurrence.objects.filter(root=run).count() == 1
    verifier.verify()


def test_absent_leave_closes_the_call_as_not_done(start: Start, reviewer: models.User) -> None:
    run, review = doubted(start, reviewer)
    answer(review, reviewer, "absent_leave", rendered_at=tomorrow())
    run = go(run)
    assert World.effects() == []
    assert models.Occurrence.objects.get(root=run).state == "void"
    assert models.Action.objects.get(run=run).status == "failed"
    verifier.verify()


def test_cannot_be_known_keeps_the_occurrence_unknown(start: Start, reviewer: models.User) -> None:
    run, review = doubted(start, reviewer, before=False)
    answer(review, reviewer, "unknown")
    run = go(run)
    assert models.Action.objects.get(run=run).status == "abandoned"
    assert models.Occurrence.objects.get(root=run).state == "unknown"
    assert run.status == "succeeded"
    verifier.verify()


def test_a_stopped_run_waits_for_the_unknown_outcome(start: Start, reviewer: models.User) -> None:
    run, review = doubted(start, reviewer, before=False)
    holds.stop(run.pk, reason="enough", by=Actor(user=reviewer))
    run = go(run)
    assert (run.status, run.reason) == ("waiting", "stop_unsettled")
    answer(review, reviewer, "happened", receipt="Seen.")
    run = go(run)
    assert run.status == "cancelled"
    verifier.verify()


def test_late_evidence_settles_the_question(start: Start, reviewer: models.User) -> None:
    run, review = doubted(start, reviewer, before=False)
    action = models.Action.objects.get(run=run)
    evidence.append(
        action.pk, attempt=1, outcome="happened", source="worker", content={"summary": "Sent.", "value": None}
    )
    with pytest.raises(refusals.Stale, match="New evidence"):
        answer(review, reviewer, "unknown")
    run = go(run)
    review.refresh_from_db()
    assert (run.status, review.status) == ("succeeded", "settled")
    assert len(World.effects("mail")) == 1
    verifier.verify()


def test_a_zombie_may_only_leave_evidence(start: Start, reviewer: models.User) -> None:
    """The worker is taken over inside its effect; its receipt becomes evidence, and the effect stays single."""
    run = released(start, reviewer, "unprotected")

    def taken_over() -> None:
        models.Run.objects.filter(pk=run.pk).update(fence=F("fence") + 1)

    World.after = taken_over
    run = go(run)
    World.after = None
    assert models.Evidence.objects.get().outcome == "happened"
    expire_lease(run)
    run = go(run)
    assert run.status == "succeeded"
    assert len(World.effects("mail")) == 1
    verifier.verify()


def asked_again(start: Start, reviewer: models.User, *, before: bool) -> tuple[models.Run, models.Review]:
    """A run whose first effect was given up as unknowable, and whose second, the same again, waits for that."""
    run = go(
        start(step("unprotected", "mail", id="one", required=False), step("unprotected", "mail", id="two"))
    )
    answer(only_review(run), reviewer, "approve")
    crash(run, before=before)
    run = go(run)
    answer(only_review(run), reviewer, "unknown")
    run = go(run)
    assert (run.status, run.reason) == ("waiting", "blocked")
    question = only_review(run)
    assert question.kind == "in_doubt"
    return run, question


def test_an_unknown_effect_blocks_the_same_again_until_somebody_says(
    start: Start, reviewer: models.User
) -> None:
    run, question = asked_again(start, reviewer, before=True)
    answer(question, reviewer, "absent_leave", rendered_at=tomorrow())
    answer(only_review(go(run)), reviewer, "approve")
    run = go(run)
    assert run.status == "succeeded", run.error
    assert len(World.effects("mail")) == 1
    verifier.verify()


def test_it_did_happen_after_all_asks_before_doing_it_twice(start: Start, reviewer: models.User) -> None:
    run, question = asked_again(start, reviewer, before=False)
    answer(question, reviewer, "happened", receipt="Seen.")
    run = go(run)
    again = only_review(run)
    assert (again.kind, len(World.effects("mail"))) == ("action", 1)
    assert "already proposed or done" in again.content["why"]
    answer(again, reviewer, "reject", reason="once is enough")
    assert go(run).status == "succeeded"
    assert len(World.effects("mail")) == 1
    verifier.verify()


def test_still_unknowable_closes_the_second_one_undone(start: Start, reviewer: models.User) -> None:
    run, question = asked_again(start, reviewer, before=False)
    answer(question, reviewer, "unknown")
    run = go(run)
    assert run.status == "succeeded", run.error
    assert len(World.effects("mail")) == 1
    verifier.verify()
