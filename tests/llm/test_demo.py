"""The demo's accounts receivable driven by a model: there with a key, absent without."""

from __future__ import annotations

import itertools

import pytest

from runs import models, seed
from runs.demo import agents, driven, setup
from runs.demo.setup import FOLDER
from runs.engine import verifier
from runs.transitions import starts
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, only_review
from tests.llm.conftest import go, plan
from tests.llm.wire import Say, Server

pytestmark = pytest.mark.django_db(transaction=True)

_numbers = itertools.count()


def test_without_a_key_it_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    """A key of either vendor is enough; another model may be named."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    assert driven.agents(agents.INPUT) == []
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    assert [agent.model for agent in driven.agents(agents.INPUT)] == ["openai:gpt-5.2"]
    monkeypatch.setenv("CKPTSITE_DEMO_MODEL", "openai:gpt-5-mini")
    assert driven.model() == "openai:gpt-5-mini"
    monkeypatch.setenv("CKPTSITE_DEMO_MODEL", "anthropic:claude-haiku-5-5")
    assert driven.model() == ""


def test_it_reads_writes_and_waits_for_people(
    server: Server, operator: models.User, reviewer: models.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The letter that the model wrote is what the reviewer reads; refused, it ends without having sent any."""
    (agent,) = driven.agents(agents.INPUT)
    seed.register(agent)
    letter = {
        "to": "billing.lark@example.com",
        "subject": "Invoice N-1255 is open",
        "body": "Please pay 2599.07 EUR, due 2026-11-19.",
        "reference": "Reminder 2 for invoice N-1255",
        "plan_step": "lark",
    }
    result = {"reminders": [], "fees": [], "left_out": ["N-1255: rita refused"]}
    server.will(
        Say(calls=(("files_read_csv", {"file": {"path": "north.csv"}}),)),
        Say(text="One is late.", calls=(plan("lark"), ("email_send", letter))),
        Say(calls=(("finish", {"summary": "Nothing sent.", "result": result}),)),
    )
    sha256 = starts.keep_blob((FOLDER / "north.csv").read_bytes())
    run = starts.start_run(
        "receivables-model",
        input={"file": {"path": "north.csv", "sha256": sha256}, "as_of": setup.RUNS[0][2]},
        title="North",
        by=Actor(user=operator),
        token=f"demo-{next(_numbers)}",
    )
    run = go(run)
    assert run.status == "waiting", run.error
    review = only_review(run)
    assert review.action is not None
    assert review.action.arguments()["body"] == letter["body"]
    assert review.action.step == "lark"
    answer(review, reviewer, "reject", reason="paid today")
    run = go(run)
    assert run.status == "succeeded", run.error
    assert "N-1249" in repr(server.asked[1])
    assert "rita rejected it. Reason: paid today" in repr(server.asked[2])
    assert run.cost_known
    verifier.verify()
