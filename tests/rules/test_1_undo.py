"""Taking an effect back: an action like any other, once, and what becomes of the effect."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from unittest import mock

import pytest

from runs import models
from runs.engine import frontier, proposing, verdicts, verifier
from runs.providers import contract
from runs.transitions import holds
from runs.transitions.actor import Actor
from runs.transitions.refusals import Invalid, NotYours, Stale
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World
from tests.rules.branching import checkpoint, redrive, texts, through
from tests.rules.reversing import ask, done, state

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_1_14_where_no_attempt_is_live_a_run_of_one_step_does_it(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """The owner is a closed run: it stays as it is, and a new run in its lineage takes the effect back, and ends."""
    run = start(step("back", "pay"))
    row = done(run, reviewer)
    new = ask(row, operator, token="one")
    assert ask(row, operator, token="one") == new
    asked = only_review(go(new))
    assert asked.action is not None
    assert (asked.action.tool, asked.action.undo_of_id) == ("world.back.undo", row.pk)
    assert asked.content["why"] == "olga asked for it: the wrong customer"
    assert (World.effects("undo pay"), state(row)) == ([], "standing")
    assert through(new, reviewer).status == "succeeded", new.error
    assert len(World.effects("undo pay")) == 1
    assert (state(row), new.root_id, new.mode) == ("undone", run.pk, "live")
    undo = models.Occurrence.objects.get(tool="world.back.undo")
    assert (undo.state, undo.identity) == ("standing", {"occurrence": row.pk})
    run.refresh_from_db()
    assert (run.status, run.superseded_by_id) == ("succeeded", new.pk)
    verifier.verify()


def test_1_14_a_live_attempt_does_it_before_it_goes_on(start: Start, reviewer: models.User) -> None:
    """Undo is an action of the lineage's live attempt; nothing else of it starts meanwhile."""
    run = go(start(step("mild", "pay"), step("back", "mail", id="mail")))
    row = models.Occurrence.objects.get(root=run)
    question = only_review(run)
    assert ask(row, reviewer) == run
    run = go(run)
    assert (state(row), len(World.effects("undo pay"))) == ("undone", 1)  # tier 1: policy lets it through
    assert (run.status, only_review(run)) == ("waiting", question)
    assert through(run, reviewer).status == "succeeded", run.error
    assert "Took back pay: Did pay." in texts(run)
    verifier.verify()


def test_1_14_nothing_else_starts_while_an_undo_is_asked_about(start: Start, reviewer: models.User) -> None:
    """What was released waits: it might rest on what is taken back."""
    run = go(start(step("back", "pay"), step("back", "mail", id="mail")))
    answer(only_review(run), reviewer, "approve")
    mail = only_review(go(run))
    row = models.Occurrence.objects.get(root=run)
    ask(row, reviewer)
    run = go(run)
    answer(mail, reviewer, "approve")
    run = go(run)
    undo = only_review(run)
    assert (len(World.effects("mail")), run.status) == (0, "waiting")
    answer(undo, reviewer, "reject", reason="It was right.")
    assert go(run).status == "succeeded", run.error
    assert (len(World.effects("mail")), World.effects("undo pay"), state(row)) == (1, [], "standing")
    verifier.verify()


def test_1_14_an_absorbed_effect_is_undone_in_the_attempt_that_absorbed_it(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Attempt 2 absorbed, the owner is closed: the undo adds nothing to the closed run."""
    run = start(step("back", "pay"), step("lookup", "mail", id="mail"))
    run = go(run)
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    row = models.Occurrence.objects.get(root=run)
    new = go(redrive(run, checkpoint(run, "planned"), operator))
    go(run)
    new = go(new)
    assert models.Action.objects.filter(run=new, status="absorbed").count() == 1
    lines = models.Entry.objects.filter(run=run).count()
    assert ask(row, operator) == new
    assert through(new, reviewer).status == "succeeded", new.error
    assert (state(row), models.Entry.objects.filter(run=run).count()) == ("undone", lines)
    verifier.verify()


def test_1_14_a_second_undo_is_refused_and_if_it_comes_through_absorbed(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Its identity is the occurrence: whoever asks again, and however, it is taken back once."""
    row = done(start(step("back", "pay")), reviewer)
    new = ask(row, operator)
    with pytest.raises(Stale, match=f"Run {new.pk} was asked to take this back already"):
        ask(row, reviewer)
    go(new)
    with pytest.raises(Stale, match="already"):
        ask(row, reviewer)
    # Two questions that were on their way at once: as if the second had been asked before the first was known.
    content = {"occurrence": row.pk, "reason": "me too", "token": "late"}
    models.Fact.objects.create(run=new, number=new.inbox + 1, kind="undo", content=content, by=reviewer)
    models.Run.objects.filter(pk=new.pk).update(inbox=new.inbox + 1, status="queued", wake_at=new.created_at)
    assert through(new, reviewer).status == "succeeded", new.error
    assert len(World.effects("undo pay")) == 1
    assert sorted(models.Action.objects.filter(undo_of=row).values_list("status", flat=True)) == [
        "absorbed",
        "succeeded",
    ]
    with pytest.raises(Stale, match="has been taken back already"):
        ask(row, operator)
    verifier.verify()


def test_1_14_an_undo_that_fails_leaves_the_effect_and_an_owner(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Proven not to have happened: the run fails with a question; tried again, it is asked for anew and done."""
    row = done(start(step("back", "pay")), reviewer)
    new = go(ask(row, operator))
    World.absent = "the books are closed"
    answer(only_review(new), reviewer, "approve")
    new = go(new)
    assert (new.status, state(row)) == ("failed", "standing")
    assert "the books are closed" in new.error
    with pytest.raises(Stale, match="asks what next"):
        ask(row, operator)
    World.absent = ""
    answer(only_review(new), operator, "retry")
    assert through(new, reviewer).status == "succeeded", new.error
    assert (state(row), len(World.effects("undo pay"))) == ("undone", 1)
    assert texts(new)[-1] == "What was asked for is taken back."
    verifier.verify()


def test_1_14_after_a_failure_was_left_it_may_be_asked_again(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """The run that failed is closed: another one takes its place."""
    row = done(start(step("back", "pay")), reviewer)
    new = go(ask(row, operator))
    answer(only_review(new), reviewer, "reject", reason="not yet")
    new = go(new)
    assert (new.status, "rita rejected it" in new.error) == ("failed", True)
    answer(only_review(new), operator, "stop")
    last = ask(row, operator)
    assert last != new
    question = only_review(go(last))
    assert "rita rejected just this" in question.content["why"]
    assert through(last, reviewer).status == "succeeded", last.error
    assert state(row) == "undone"
    verifier.verify()


def test_1_14_done_by_hand_counts_as_taken_back(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """A reviewer who took it back elsewhere says so, and it is undone without a send."""
    row = done(start(step("back", "pay")), reviewer)
    new = go(ask(row, operator))
    answer(only_review(new), reviewer, "by_hand", reason="by phone", receipt="Ticket 4")
    assert go(new).status == "succeeded", new.error
    assert (state(row), World.effects("undo pay")) == ("undone", [])
    verifier.verify()


def test_1_14_what_can_not_be_taken_back_is_said_in_a_sentence(
    start: Start, operator: models.User, reviewer: models.User, person: Callable[..., models.User]
) -> None:
    """No right, no reason, no way back, done by hand, an undo itself, or a run that is being stopped."""
    row = done(start(step("lookup", "pay")), reviewer)
    with pytest.raises(NotYours):
        ask(row, person("vera", "viewer"))
    with pytest.raises(Invalid, match="Say why"):
        ask(row, operator, reason=" ")
    with pytest.raises(Invalid, match="Nothing takes back"):
        ask(row, operator)
    run = go(start(step("back", "pay")))
    answer(only_review(run), reviewer, "by_hand", reason="urgent", receipt="Parcel 17")
    go(run)
    with pytest.raises(Invalid, match="by hand"):
        ask(models.Occurrence.objects.get(root=run), operator)
    back = done(start(step("mild", "pay")), reviewer)
    go(ask(back, operator))
    with pytest.raises(Invalid, match="takes something back itself"):
        ask(models.Occurrence.objects.get(tool="world.mild.undo"), operator)
    busy = go(start(step("mild", "pay"), step("back", "mail", id="mail")))
    holds.stop(busy.pk, reason="enough", by=Actor(user=operator))
    with pytest.raises(Stale, match="is being stopped"):
        ask(models.Occurrence.objects.get(root=busy), operator)


def test_1_14_no_agent_proposes_an_undo(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only people ask for one: an agent could name any effect of any work."""
    run = go(start(step("mild", "pay")))
    row = models.Occurrence.objects.get(root=run)
    given = {"occurrence": row.pk, "arguments": {"name": "pay"}, "receipt": {"summary": "Did pay."}}
    agent = frontier.spec(run.agent_version_id)
    allowed = dataclasses.replace(agent, tools=(*agent.tools, "world.mild.undo"))
    front = mock.Mock(spec=frontier.Frontier, agent=allowed, run=run)
    call = contract.Call(tool="world.mild.undo", arguments=given)
    found = proposing.check(front, verdicts.in_force(), call, [], mock.Mock())
    assert found.refusal == "world.mild.undo: only people ask for something to be taken back."
