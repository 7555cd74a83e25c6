"""Every send passes the whole gate and has an intent of its own, also the second one under the same key."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions import holds, switches
from runs.transitions.actor import Actor
from tests.engine.conftest import go, only_review
from tests.engine.test_unknown import crash, released
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def lost_before_sending(start: Start, reviewer: models.User) -> models.Run:
    """A run whose worker died between the intent and an idempotent send."""
    run = released(start, reviewer, "idempotent")
    crash(run, before=True)
    return run


def intents(run: models.Run) -> list[tuple[int, int]]:
    """Attempt and fence of each intent in the log."""
    lines = models.Entry.objects.filter(run=run, kind="intent").order_by("position")
    return [(line.content["attempt"], line.content["fence"]) for line in lines]


def test_2_9_a_second_send_has_an_intent_of_its_own(start: Start, reviewer: models.User) -> None:
    run = lost_before_sending(start, reviewer)
    assert go(run).status == "succeeded"
    (first, fence), (second, later) = intents(run)
    assert (first, second) == (1, 2)
    assert later > fence
    assert len(World.effects("mail")) == 1
    verifier.verify()


def test_2_9_after_a_stop_it_is_not_sent_again(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """The first send never arrived, so the second would be the effect, after somebody said stop."""
    run = lost_before_sending(start, reviewer)
    holds.stop(run.pk, reason="enough", by=Actor(user=operator))
    run = go(run)
    assert World.effects() == []
    assert only_review(run).kind == "in_doubt"
    assert len(intents(run)) == 1


def test_2_9_an_approver_without_the_right_releases_no_second_send(
    start: Start, reviewer: models.User
) -> None:
    """The gate asks again who approved it; the machine may then only look, and here it can't."""
    run = lost_before_sending(start, reviewer)
    reviewer.groups.clear()
    run = go(run)
    assert World.effects() == []
    question = only_review(run)
    assert (question.kind, "no longer has the right" in question.content["why"]) == ("in_doubt", True)
    verifier.verify()


def test_2_9_while_everything_is_paused_nothing_is_sent_again(
    start: Start, reviewer: models.User, person: Callable[..., models.User]
) -> None:
    run = lost_before_sending(start, reviewer)
    switches.pause_all(True, by=Actor(user=person("ada", "admin")), reason="Test.")
    go(run)
    assert World.effects() == []
    assert len(intents(run)) == 1
