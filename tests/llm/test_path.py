"""A model drives a run: from its first plan to its result, over both vendors' formats, piece by piece or whole."""

from __future__ import annotations

from typing import Any

import pytest

from runs import models
from runs.engine import verifier
from tests.engine.conftest import answer, only_review
from tests.engine.world import World
from tests.llm.conftest import KEY, Start, finish, go, plan
from tests.llm.wire import Say, Server

pytestmark = pytest.mark.django_db(transaction=True)

RESULT = {"type": "object", "required": ["done"], "properties": {"done": {"type": "integer"}}}


def told(body: dict[str, Any]) -> str:
    """All that a request says, as one text."""
    return repr(body)


@pytest.mark.parametrize(
    ("vendor", "stream"), [("anthropic", False), ("anthropic", True), ("openai", False), ("openai", True)]
)
def test_a_model_plans_asks_acts_and_finishes(
    server: Server, start: Start, reviewer: models.User, vendor: str, stream: bool
) -> None:
    """Plan, read, an effect that a person edits, and a result that first doesn't fit its schema."""
    server.will(
        Say(text="First a plan.", calls=(plan("look", "act"),), tokens_in=900, tokens_out=40),
        Say(calls=(("world_look", {"name": "it", "plan_step": "look"}),)),
        Say(calls=(("world_unprotected", {"name": "it", "plan_step": "act"}),)),
        finish(result={"done": "one"}),
        finish(result={"done": 1}),
    )
    run = go(
        start(vendor, stream=stream, output_schema=RESULT, budget={"tokens": 200_000}, given={"who": "Ada"})
    )
    assert run.status == "waiting", run.error
    review = only_review(run)
    answer(review, reviewer, "approve")
    run = go(run)
    assert run.status == "succeeded", run.error
    assert server.script == []
    assert len(World.effects("it")) == 1
    steps = models.PlanStep.objects.filter(run=run).order_by("order")
    assert [(row.key, row.state) for row in steps] == [("look", "done"), ("act", "done")]
    first = models.Entry.objects.filter(run=run, kind="reply").order_by("position").first()
    assert first is not None
    assert first.content["text"] == "First a plan."
    assert first.content["usage"]["tokens_in"] == 900
    assert first.content["usage"]["cost_micro"] > 0
    assert first.content["gen_ai"]["gen_ai.provider.name"] == vendor
    assert first.content["gen_ai"]["gen_ai.response.id"] == "reply-1"
    assert (run.steps, run.tokens_in, run.tokens_out, run.cost_known) == (5, 1_300, 120, True)
    end = models.Entry.objects.get(run=run, kind="end")
    assert end.content["result"] == {"done": 1}
    # What it was told on the way.
    assert "Ada" in told(server.asked[0])
    assert "You are tested." in told(server.asked[0])
    assert "There is no plan yet." in told(server.asked[0])
    assert "[active] act" not in told(server.asked[1])
    assert "[done] look: Do look" in told(server.asked[2])
    assert "[succeeded]" in told(server.asked[3])
    assert "done: " in told(server.asked[4])  # why the first result doesn't fit
    kept = [repr(body).count("cache_control") for body in server.asked]
    assert kept == ([1] * 5 if vendor == "anthropic" else [0] * 5)
    assert all(KEY in key for key in server.keys)
    assert KEY not in repr(list(models.Entry.objects.filter(run=run).values_list("content", flat=True)))
    verifier.verify()
