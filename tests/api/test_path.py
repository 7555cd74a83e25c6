"""The way of a program: a token, a run started once, read, and a decision that is a person's."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from runs import models
from runs.demo import setup as demo
from tests import factories
from tests.api.conftest import Give
from tests.engine.conftest import go

pytestmark = pytest.mark.django_db(transaction=True)


def invoices() -> dict[str, object]:
    """Return a request to start the demo's agent on a file of its own."""
    content = (Path(demo.FOLDER) / "north.csv").read_bytes()
    file = {"name": "north.csv", "content": base64.b64encode(content).decode()}
    return {"agent": "receivables", "input": {"as_of": "2026-11-27"}, "files": {"file": file}}


def test_from_the_token_to_the_decision(who: factories.People, give: Give) -> None:
    agent = give(who.operator, kind="agent")
    assert agent.token is not None
    me = agent.get("me").json()
    assert (me["username"], me["may"]) == ("operator-1", ["view", "start", "pause", "stop"])
    assert [one["name"] for one in agent.get("agents").json()["items"]] == ["correspondence", "receivables"]

    first = agent.post("runs", invoices(), key="night-1")
    assert first.status_code == 201, first.content
    again = agent.post("runs", invoices(), key="night-1")
    assert (again.status_code, again.content) == (201, first.content)
    assert again["Idempotency-Replayed"] == "true"
    other = agent.post("runs", {**invoices(), "title": "Another"}, key="night-1")
    assert (other.status_code, other.json()["type"]) == (422, "urn:ckptsite:problem:idempotency-key-reused")
    run = models.Run.objects.get()
    assert run.created_by == who.operator
    started = models.AuditEvent.objects.get(act="run.started")
    assert (started.channel, started.actor, started.content["token"]) == (
        "api", who.operator, {"id": agent.token.pk, "name": "nightly", "kind": "agent", "prefix": agent.secret[:12]},
    )  # fmt: skip

    go(run)
    read = agent.get(f"runs/{run.pk}").json()
    assert (read["status"], read["created_by"]) == ("waiting", "operator-1")
    question = read["open_reviews"][0]
    shown = agent.get(f"reviews/{question}").json()
    action = models.Review.objects.get(pk=question).action
    assert action is not None
    assert shown["arguments"] == action.arguments()
    assert shown["arguments_digest"] == action.digest
    assert shown["digest"] == action.approval_digest
    seen = {name: shown[name] for name in ("revision", "digest", "evidence_number", "seen")}
    said = {"verdict": "approve", "reason": "It is right.", **seen}
    refused = agent.post(f"reviews/{question}/decide", said)
    assert (refused.status_code, refused.json()["type"]) == (403, "urn:ckptsite:problem:not-yours")
    assert "This token is not for that" in refused.json()["detail"]

    person = give(who.reviewer)
    done = person.post(f"reviews/{question}/decide", said, key="mine")
    assert (done.status_code, done.json()["status"]) == (200, "approved"), done.content
    assert person.post(f"reviews/{question}/decide", said, key="mine").content == done.content
    late = give(who.admin).post(f"reviews/{question}/decide", said)
    assert late.status_code == 409
    winner = late.json()["decided"]["decisions"][0]
    assert (winner["by"], winner["verdict"], winner["channel"]) == ("reviewer-1", "approve", "api")
    assert models.Decision.objects.get().through == person.token
