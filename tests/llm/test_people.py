"""A model hears what people did: a plan they changed, an action they refused or edited, an answer they gave."""

from __future__ import annotations

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions import holds
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, only_review
from tests.engine.world import World
from tests.llm.conftest import Start, finish, go, plan
from tests.llm.wire import Say, Server
from tests.rules import test_4_plan_edits as edits

pytestmark = pytest.mark.django_db(transaction=True)

YES = {"type": "object", "required": ["yes"], "properties": {"yes": {"type": "boolean"}}}


def test_a_model_hears_what_people_did(
    server: Server, start: Start, reviewer: models.User, operator: models.User
) -> None:
    """One run, in which people take part at each turn."""
    server.will(
        Say(calls=(plan("ask", "pay", "tell"),)),
        Say(calls=(("ask_human", {"question": "May I?", "schema": YES, "plan_step": "ask"}),)),
        Say(calls=(("world_unprotected", {"name": "bob", "plan_step": "pay"}),)),
        Say(calls=(plan("pay-ada", reason="Bob is not to be paid."),)),
        Say(calls=(("plan", {"done": ["pay-ada"]}),)),
        finish(),
    )
    run = go(start())
    question = only_review(run)
    assert question.kind == "question"
    answer(question, reviewer, "answer", value='{"yes": true}')
    run = go(run)
    assert '{"yes": true}' in repr(server.asked[2])
    review = only_review(run)
    holds.pause(run.pk, reason="", by=Actor(user=operator))
    wanted = edits.plan(run)
    edits.named(wanted, "tell")["title"] = "Tell them twice"
    edits.save(run, wanted, operator)
    holds.resume(run.pk, by=Actor(user=operator))
    answer(review, reviewer, "reject", reason="never Bob")
    run = go(run)
    assert run.status == "succeeded", run.error
    heard = repr(server.asked[3])
    assert "[rejected] Not done: rita rejected it. Reason: never Bob" in heard
    assert "olga changed the plan; it is version 2 now. Reason: It was wrong." in heard
    assert "tell: Tell them twice" in heard
    assert World.effects() == []
    # An amended plan keeps what is over, and says why it was amended.
    assert "[done] ask: Do ask" in repr(server.asked[4])
    assert "[refused] pay: Do pay" in repr(server.asked[4])
    assert "tell" not in repr(server.asked[4]["messages"][-1])
    newest = models.Plan.objects.filter(run=run).latest("version")
    assert (newest.version, newest.author, newest.reason) == (3, None, "Bob is not to be paid.")
    states = dict(models.PlanStep.objects.filter(run=run).values_list("key", "state"))
    assert states == {"ask": "done", "pay": "refused", "pay-ada": "done"}
    verifier.verify()
