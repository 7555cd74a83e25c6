"""Rule 2.1 where a read and an effect stand in one reply: the read's result goes with the effect's intent."""

from __future__ import annotations

import pytest

from runs import models, points, seed
from runs.engine import advance, verifier
from runs.providers import declared
from runs.transitions import clock_time, starts
from runs.transitions.actor import Actor
from tests.engine.world import Look, World

pytestmark = pytest.mark.django_db(transaction=True)

REPLY = {
    "calls": [
        {"tool": "world.look", "arguments": {"name": "it"}},
        {"tool": "world.allowed", "arguments": {"name": "done"}},
    ]
}


class Died(BaseException):
    """The worker is gone."""


def started(operator: models.User) -> models.Run:
    seed.register(
        declared.Agent(
            name="both", title="Both", provider="replay", definition={"replies": [REPLY]},
            tools=("world.look", "world.allowed"), input_schema={"type": "object", "properties": {}},
        )
    )  # fmt: skip
    return starts.start_run("both", input={}, title="B", by=Actor(user=operator), token="b")


def advanced(run: models.Run, *, dies_at: str = "") -> list[str]:
    """Advance the run; return the points that were passed."""
    passed: list[str] = []

    def reach(name: str) -> None:
        passed.append(name)
        if name == dies_at:
            raise Died

    models.Run.objects.filter(pk=run.pk, status="running").update(lease_until=clock_time.now())
    points.arm(reach)
    try:
        advance.advance(run.pk)
    except Died:
        pass
    finally:
        points.arm(None)
    run.refresh_from_db()
    return passed


def test_2_1_a_read_goes_with_the_intent_after_it(operator: models.User) -> None:
    run = started(operator)
    assert "read_intent.after_commit" in advanced(run)
    assert (run.status, len(Look.runs)) == ("succeeded", 1)
    assert [line["name"] for line in World.effects()] == ["done"]
    verifier.verify()


def test_2_1_neither_is_there_without_the_other(operator: models.User) -> None:
    """Who dies before the commit has stored and sent nothing; the read is run again, the effect happens once."""
    run = started(operator)
    advanced(run, dies_at="read_intent.before")
    kinds = models.Entry.objects.filter(run=run).values_list("kind", flat=True)
    assert not {"result", "intent"} & set(kinds)
    assert World.effects() == []
    advanced(run)
    assert (run.status, len(Look.runs)) == ("succeeded", 2)
    assert [line["name"] for line in World.effects()] == ["done"]
    verifier.verify()
