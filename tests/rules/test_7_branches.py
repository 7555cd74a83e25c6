"""Branches of a log: corrected input, numbers that go on, and chains that hold together."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions.refusals import Invalid
from tests.engine.conftest import go, step
from tests.engine.world import World
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_7_1_templates_take_the_newest_correction(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """A corrected input is an entry of its own; what is made after it uses it, what was made before is kept."""
    run = through(start(step("lookup", "${input.to}"), input={"to": "wrong"}), reviewer)
    new = through(redrive(run, checkpoint(run, "planned"), operator, input={"to": "right"}), reviewer)
    assert new.status == "succeeded", new.error
    assert [line["name"] for line in World.effects()] == ["wrong", "right"]
    entry = models.Entry.objects.get(run=new, kind="correction")
    assert (entry.content["input"], entry.content["before"]) == ({"to": "right"}, run.input_digest)
    again = through(redrive(new, checkpoint(new, "result"), operator), reviewer)
    assert again.input == {"to": "right"}
    verifier.verify()


def test_7_2_a_branch_copies_nothing_and_goes_on_from_the_cut(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Positions, checkpoint numbers and plan versions go on, and the chain of the log does too."""
    run = through(start(step("look", "it"), step("lookup", "pay")), reviewer)
    number = checkpoint(run, "result")
    cut = models.Checkpoint.objects.get(run=run, number=number)
    new = redrive(run, number, operator)
    assert new.path == [[run.pk, cut.position]]
    first = models.Entry.objects.filter(run=new).order_by("position").first()
    assert first is not None
    assert (first.position, first.number) == (cut.position + 1, number + 1)
    assert models.Entry.objects.filter(run=new).count() == 1
    third = redrive(go(new), checkpoint(new, "created"), operator)
    assert third.path == [[run.pk, cut.position], [new.pk, first.position]]
    assert go(third).status == "succeeded", third.error
    verifier.verify()


def test_7_2_a_path_longer_than_32_is_refused(start: Start, operator: models.User) -> None:
    """Somebody who has branched so often begins separate work instead."""
    run = go(start(step("look", "it")))
    for _ in range(32):
        run = go(redrive(run, run.checkpoint_number, operator))
    with pytest.raises(Invalid, match="32 times"):
        redrive(run, run.checkpoint_number, operator)
