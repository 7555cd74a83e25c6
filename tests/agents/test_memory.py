"""Notes: kept once, recalled as they were, taken back, corrected by people, and nobody else's."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from django.db import IntegrityError
from django.test import Client
from django.urls import reverse

from runs import models
from runs.engine import verifier
from runs.engine.context import Context
from runs.tools import contract, registry
from runs.tools.memory import Note
from runs.transitions import memory, refusals
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import go

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def who() -> factories.People:
    """One person of each role."""
    return factories.people()


def recalled(run: models.Run) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = next(
        row.content["value"]["notes"]
        for row in models.Entry.objects.filter(run=run, kind="result").order_by("-position")
        if "recalled" in row.content["text"]
    )
    return found


def test_a_later_run_recalls_what_an_earlier_one_kept_and_people_corrected(who: factories.People) -> None:
    first = go(
        factories.starts_with_notes(who.operator, ("C-1", "pays", "Pays late."), ("C-2", "pays", "At once."))
    )
    assert [note["text"] for note in recalled(first)] == ["Pays late."]
    agent = first.agent_version.agent.name
    note = models.MemoryNote.objects.get(subject="C-1")
    client = Client()
    client.force_login(who.operator)
    place = reverse("agent-note", args=[agent, note.pk])
    sent = {"text": "Pays at once now.", "base": "1", "act": "keep"}
    unsaid = client.post(place, sent | {"reason": " "})
    assert (unsaid.status_code, "Say why" in unsaid.content.decode(), "at once now" in unsaid.content.decode()) == (
        422, True, True)  # fmt: skip
    assert client.post(place, sent | {"reason": "They told us."}).status_code in {302, 303}
    assert (
        client.post(place, sent | {"text": "Again.", "reason": "x"}).status_code == 409
    )  # another version by now

    again = factories.starts_with_notes(who.operator, ("C-1", "other", "Prefers mail."), agent=agent)
    notes = recalled(go(again))
    assert [(note["name"], note["text"], note["version"]) for note in notes] == [
        ("other", "Prefers mail.", 1),
        ("pays", "Pays at once now.", 2),
    ]
    # What was recalled stays in the log as it was then, whatever becomes of the note.
    assert [note["text"] for note in recalled(first)] == ["Pays late."]

    page = client.get(reverse("agent-memory", args=[agent]) + "?q=once+-mail").content.decode()
    assert "Pays at once now." in page
    assert "Prefers mail." not in page
    assert "They told us." in page
    client.post(place, {"act": "forget", "base": "2", "reason": "Wrong customer."})
    assert (
        "Pays" not in client.get(reverse("agent-memory", args=[agent])).content.decode().partition("<main")[2]
    )
    assert [line.text for line in note.versions.order_by("number")] == ["Pays late.", "Pays at once now.", ""]

    stranger = go(factories.starts_with_notes(who.operator, ("C-1", "mine", "Mine.")))
    assert [note["text"] for note in recalled(stranger)] == ["Mine."]  # another agent's notes are not there
    verifier.verify()


def test_a_note_whose_answer_was_lost_is_kept_once_and_what_was_noted_can_be_taken_back(
    who: factories.People,
) -> None:
    kept = Note.run

    def lost(self: Note, args: Any, ctx: Any) -> Any:
        kept(self, args, ctx)
        raise ConnectionError("the answer was lost")

    with mock.patch.object(Note, "run", lost):
        run = go(factories.starts_with_notes(who.operator, ("C-1", "pays", "Pays late.")))
    assert run.status == "succeeded", (run.status, run.reason)  # it was looked up, and is there
    note = models.MemoryNote.objects.get()
    assert (note.version, note.text) == (1, "Pays late.")

    tool, args = (
        registry.get("memory.note"),
        Note.parse({"subject": "C-1", "name": "pays", "text": "Pays late."}),
    )
    ctx = Context(
        run_id=run.pk, timeout=10, agent=run.agent_version.agent.name, tool="memory.note", key="k" * 64
    )
    receipt = tool.lookup(args, [models.MemoryVersion.objects.get().key or ""], ctx)
    assert receipt is not None
    tool.undo(args, receipt, ctx)
    note.refresh_from_db()
    assert (note.version, note.text) == (2, "")
    assert tool.undo_lookup(args, receipt, ["k" * 64], ctx) is not None
    with pytest.raises(IntegrityError), mock.patch.object(memory, "remembered", return_value=None):
        ctx.remember(subject="C-1", name="pays", text="twice")
    verifier.verify()


@pytest.mark.parametrize(
    "wrong", [{"name": "a\x00"}, {"subject": "a\nb"}, {"name": ""}, {"text": "x" * 4_001}]
)
def test_what_can_not_be_kept_is_refused_before_anybody_is_asked(wrong: dict[str, str]) -> None:
    with pytest.raises(contract.BadArguments):
        Note.settled({"subject": "C-1", "name": "pays", "text": "Late."} | wrong)


def test_a_stranger_changes_nothing(who: factories.People) -> None:
    note = factories.remembered(who.operator)
    for user in (who.viewer, who.reviewer, who.auditor):
        with pytest.raises(refusals.NotYours):
            memory.change(note.pk, "x", reason="y", base=1, by=Actor(user=user))
