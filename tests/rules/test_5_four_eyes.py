"""Four eyes over attempts: whoever had a hand in what led here doesn't release it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.transitions import answers
from runs.transitions.refusals import NotYours
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_5_9_who_began_any_attempt_on_the_path_does_not_release(
    start: Start, operator: models.User, reviewer: models.User, person: Callable[..., models.User]
) -> None:
    """The starter of the first attempt may not release in the second, which somebody else re-drove."""
    operator.groups.add(*reviewer.groups.all())
    bob = person("bob", "operator", "reviewer")
    run = go(start(step("costly", "fee")))
    new = redrive(run, checkpoint(run, "planned"), bob)
    go(run)
    review = only_review(go(new))
    with pytest.raises(NotYours, match="You started this run"):
        answer(review, bob, "approve")
    with pytest.raises(NotYours, match="You began an attempt that led here"):
        answer(review, operator, "approve")
    assert through(new, reviewer).status == "succeeded"
    assert len(World.effects("fee")) == 1
    # Alone is only who has nobody beside them, and an administrator needs no group to be somebody.
    for other in models.User.objects.exclude(pk=bob.pk):
        other.groups.clear()
    assert not answers.others_may(bob, ["reviewer"])
    models.User.objects.filter(pk=operator.pk).update(is_superuser=True)
    assert answers.others_may(bob, ["reviewer"])
