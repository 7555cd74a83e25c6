"""Gates that a playbook has by itself."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_4_12_a_playbook_has_gates_of_its_own(start: Start, reviewer: models.User) -> None:
    """Before a step, and before each row of a loop; what only reads has none."""
    rows = {"each": "['a', 'b']", "as": "row", "with": {"name": "${row}"}}
    run = go(start(step("allowed", "draft", gate=True), step("allowed", id="rows", gate=True) | rows))
    asked = only_review(run)
    assert "The plan wants to be asked before this step." in asked.content["why"]
    answer(asked, reviewer, "approve")
    run = go(run)
    for review in models.Review.objects.filter(run=run, status="open"):
        answer(review, reviewer, "approve")
    assert (go(run).status, [line["name"] for line in World.effects()]) == ("succeeded", ["draft", "a", "b"])
    verifier.verify()
    with pytest.raises(ValueError, match=r"'world\.look' only reads, so nobody can be asked"):
        start(step("look", gate=True))
