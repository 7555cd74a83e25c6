"""Leases, attempts and zombies: authority ends by the database's clock, and lost workers are counted."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from unittest import mock

import pytest
from django.conf import settings
from django.utils import timezone

from runs import models
from runs.engine import advance, undoing, verifier
from runs.transitions import evidence, steps
from runs.transitions.refusals import LostAuthority
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import Killed, expire_lease, released
from tests.engine.world import Lookup, Unprotected, World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def lease(run_id: int, seconds: float) -> None:
    """Let the lease end so many seconds from now."""
    until = timezone.now() + datetime.timedelta(seconds=seconds)
    assert models.Run.objects.filter(pk=run_id).update(lease_until=until) == 1


def left(run_id: int) -> float:
    """Return the seconds that the lease still has."""
    until = models.Run.objects.values_list("lease_until", flat=True).get(pk=run_id)
    assert until is not None
    return (until - timezone.now()).total_seconds()


def test_3_4_a_lease_is_never_longer_than_its_length_or_the_move(start: Start) -> None:
    """The clock went back an hour: the heartbeat brings the lease back to what anybody may have."""
    claim = steps.claim(start(step("look", "it")).pk)
    assert claim is not None
    lease(claim.run_id, 3600)
    assert steps.renew(claim)
    assert left(claim.run_id) <= settings.CKPTSITE["LEASE"]
    lease(claim.run_id, 3600)
    assert steps.renew(claim, within=30)
    assert 25 < left(claim.run_id) <= 30


def test_3_4_a_lease_that_is_impossibly_far_away_is_taken(start: Start) -> None:
    run = start(step("look", "it"))
    assert steps.claim(run.pk) is not None
    assert steps.claim(run.pk) is None
    lease(run.pk, 86_400)
    assert steps.claim(run.pk) is not None


def test_3_4_an_effect_that_takes_long_keeps_its_lease(start: Start, reviewer: models.User) -> None:
    """A tool may declare an hour: its lease is no impossible one, and nobody takes the run over meanwhile."""
    hour = datetime.timedelta(hours=1)
    with mock.patch.object(Unprotected, "timeout", hour):
        run = released(start, reviewer, "unprotected")
        taken: list[tuple[steps.Claim | None, float]] = []
        World.before = lambda: taken.append((steps.claim(run.pk), left(run.pk)))
        go(run)
    claim, seconds = taken[0]
    assert claim is None
    assert 3590 < seconds < 3620


def test_3_1_absence_is_answered_only_from_a_look_after_the_horizon(
    start: Start, reviewer: models.User
) -> None:
    """The look-up of a machine obeys it too: before the horizon nothing is sent again."""
    run = released(start, reviewer, "lookup")
    World.before = _die
    with pytest.raises(Killed):
        go(run)
    World.before = None
    expire_lease(run)
    run = go(run)
    assert (run.reason, World.effects()) == ("horizon", [])
    with clockwork.ahead(hours=1):
        assert go(run).status == "succeeded"
    assert len(World.effects()) == 1


def test_3_2_evidence_wakes_a_run_at_rest_and_settles_it_once(start: Start, reviewer: models.User) -> None:
    """What the lost worker knew closes the question; a second piece of the same evidence changes nothing."""
    run = released(start, reviewer, "unprotected")
    World.after = _die
    with pytest.raises(Killed):
        go(run)
    World.after = None
    expire_lease(run)
    assert go(run).status == "waiting"
    action = models.Action.objects.get(run=run)
    for _ in range(2):
        evidence.append(action.pk, attempt=1, outcome="happened", source="worker",
                        content={"summary": "Sent.", "value": None})  # fmt: skip
    run.refresh_from_db()
    assert run.status == "queued"
    assert go(run).status == "succeeded"
    assert models.Entry.objects.filter(run=run, kind="result", content__contains="Sent.").count() == 1
    verifier.verify()


def test_3_8_a_hand_back_is_not_counted_and_forgives_nothing(start: Start) -> None:
    """Three workers were lost; a fourth is told to stop: there are still three."""
    run = start(step("look", "it"))
    models.Run.objects.filter(pk=run.pk).update(attempts=3)
    advance.advance(run.pk, stopping=lambda: True)
    run.refresh_from_db()
    assert (run.reason, run.attempts) == ("shutdown", 3)


def test_3_8_progress_starts_the_count_anew(start: Start) -> None:
    run = start(step("look", "it"))
    models.Run.objects.filter(pk=run.pk).update(attempts=settings.CKPTSITE["POISON"] - 1)
    assert go(run).status == "succeeded"


def test_3_8_an_intent_is_no_progress(start: Start, reviewer: models.User) -> None:
    """A tool that kills its worker each time ends with a person, not in a circle."""
    run = released(start, reviewer, "idempotent")
    World.before = _die
    for _ in range(int(settings.CKPTSITE["MAX_SENDS"])):
        with pytest.raises(Killed):
            go(run)
        expire_lease(run)
    run = go(run)
    assert (run.status, only_review(run).kind) == ("waiting", "in_doubt")
    assert run.attempts == settings.CKPTSITE["MAX_SENDS"]


def test_3_8_a_look_up_that_kills_its_workers_ends_with_a_person(start: Start, reviewer: models.User) -> None:
    """Poison while an outcome is unknown: the run may not fail yet, so a person is asked instead."""
    run = released(start, reviewer, "lookup")
    World.after = _die
    with pytest.raises(Killed):
        go(run)
    World.after = None
    with mock.patch.object(Lookup, "lookup", side_effect=Killed):
        for _ in range(int(settings.CKPTSITE["POISON"]) - 1):
            expire_lease(run)
            with pytest.raises(Killed):
                go(run)
        expire_lease(run)
        run = go(run)
    review = only_review(run)
    assert (review.kind, "one worker after the other" in review.content["why"]) == ("in_doubt", True)
    answer(review, reviewer, "happened", receipt="Seen.")
    run = go(run)
    assert run.status in {"succeeded", "failed"}
    assert len(World.effects("mail")) == 1
    verifier.verify()


def test_3_6_a_higher_fence_stops_every_write(start: Start) -> None:
    """A worker whose run was taken over writes nothing more, whatever it has in hand."""
    run = start(step("look", "it"))
    old = steps.claim(run.pk)
    assert old is not None
    lease(run.pk, -1)
    assert steps.claim(run.pk) is not None
    assert not steps.renew(old)
    for write in (
        lambda: steps.later(old, reason="slice"),
        lambda: steps.wait(old, reason="review", seen=0),
        lambda: steps.fold_in(old, undoing.check),
    ):
        with pytest.raises(LostAuthority):
            write()


def _die() -> None:
    raise Killed
