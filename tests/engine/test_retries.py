"""Steps that say how often their call is tried again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runs import models
from runs.engine import verifier
from runs.providers import playbook_format
from runs.tools.contract import DidNotHappen
from tests.engine import clockwork
from tests.engine.conftest import go, only_review, step
from tests.engine.world import Look, World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
TWICE: dict[str, Any] = {"retry": {"times": 2, "wait": 30}}


def later(run: models.Run, *, tries: int = 1) -> models.Run:
    """Return the run after so many back-offs."""
    for number in range(1, tries + 1):
        with clockwork.ahead(hours=number / 60):
            go(run)
    return run


def test_what_did_not_happen_is_sent_again_as_the_same_action(start: Start) -> None:
    """Twice more, half a minute apart, under one key; by itself the engine would have taken the first no for an end."""
    World.absent = "the box is full"
    run = go(start(step("allowed", **TWICE)))
    assert (run.status, run.reason) == ("queued", "backoff")
    assert run.wake_at is not None
    assert 25 < (run.wake_at - run.created_at).total_seconds() < 45
    later(run)
    World.absent = ""
    assert later(run, tries=2).status == "succeeded"
    action = models.Action.objects.get(run=run)
    assert (action.status, action.attempt, len(World.effects())) == ("succeeded", 3, 1)
    verifier.verify()


def test_it_ends_when_the_tries_are_used_up(start: Start) -> None:
    """Three sends in all, and then the step has failed; so has a row of a loop, each for itself."""
    World.absent = "the box is full"
    rows = {"each": "['a', 'b']", "as": "row", "with": {"name": "${row}"}}
    run = go(start(step("allowed") | rows | TWICE))
    assert later(run, tries=5).status == "failed"
    assert "the box is full" in run.error
    assert [row.attempt for row in models.Action.objects.filter(run=run)] == [3, 3]
    assert World.effects() == []


def test_a_read_is_tried_again_whatever_it_says(start: Start) -> None:
    """A read that says for sure that it can't is over at once, but for a step that asks for more."""
    Look.failures = [DidNotHappen("not there yet"), OSError("no route"), DidNotHappen("not there yet")]
    run = go(start(step("look", retry={"times": 3})))
    assert (later(run, tries=3).status, len(Look.runs)) == ("succeeded", 4)


def test_what_may_have_happened_is_never_tried_again(start: Start) -> None:
    """It is asked, as ever."""

    def lost() -> None:
        raise OSError("the answer was lost")

    World.after = lost
    run = go(start(step("allowed", **TWICE)))
    assert only_review(run).kind == "in_doubt"
    assert len(World.effects()) == 1


@pytest.mark.parametrize(
    "retry", [{}, {"times": 0}, {"times": 11}, {"times": True}, {"times": 2, "wait": -1}, {"times": 1, "every": 2}, 3]
)  # fmt: skip
def test_a_retry_that_is_none_gets_one_sentence(retry: object) -> None:
    with pytest.raises(
        playbook_format.BadPlaybook, match=r"'retry' goes with a 'tool'; it has 'times' \(1 to 10\)"
    ):
        playbook_format.body({"tool": "world.look", "retry": retry})
