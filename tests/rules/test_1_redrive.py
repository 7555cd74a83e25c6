"""Occurrences over the attempts of a lineage: what stands is absorbed, and nothing is done twice unasked."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from tests.engine.conftest import go, step
from tests.engine.world import World
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
