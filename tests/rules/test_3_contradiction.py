"""Evidence that speaks against what was settled: marked, asked about, and never a silent change of an action."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions import evidence, refusals
from tests.engine.conftest import answer, go, only_review
from tests.engine.test_unknown import crash, doubted, released, tomorrow
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def learn(run: models.Run, outcome: str, *, attempt: int = 1) -> None:
    """A worker that lost its run says what it learnt."""
    content: dict[str, Any] = {"summary": "Sent.", "value": None, "reason": "never sent"}
    action = models.Action.objects.get(run=run)
    evidence.append(action.pk, attempt=attempt, outcome=outcome, source="worker", content=content)


def test_3_3_done_again_and_the_first_did_happen(start: Start, reviewer: models.User) -> None:
    """After 'did not happen: do it' and the second send, the first one's receipt arrives: it may be there twice."""
    run, question = doubted(start, reviewer, before=False)
    answer(question, reviewer, "absent_do", rendered_at=tomorrow())
    run = go(run)
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    assert (run.status, len(World.effects("mail"))) == ("succeeded", 2)
    learn(run, "happened")
    occurrence = models.Occurrence.objects.get(root=run)
    assert (occurrence.state, occurrence.contradicted) == ("standing", True)
    assert models.Action.objects.get(run=run).status == "succeeded"
    asked = only_review(run)
    assert (asked.kind, asked.title) == ("failure", "world.unprotected may have happened twice")
    assert (asked.groups, asked.due_at is not None) == (["operator"], True)
    assert models.AuditEvent.objects.filter(act="occurrence.contradicted", run=run).count() == 1
    verifier.verify()


def test_3_3_left_undone_and_it_did_happen(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """A void occurrence with a late receipt stands; the closed action stays as it is, and an operator looks."""
    run, question = doubted(start, reviewer, before=False)
    answer(question, reviewer, "absent_leave", rendered_at=tomorrow())
    run = go(run)
    failed = only_review(run)
    learn(run, "happened")
    occurrence = models.Occurrence.objects.get(root=run)
    assert (occurrence.state, occurrence.contradicted) == ("standing", True)
    assert models.Action.objects.get(run=run).status == "failed"
    asked = models.Review.objects.exclude(pk=failed.pk).get(run=run, status="open")
    with pytest.raises(refusals.Invalid, match="no answer to this question"):
        answer(asked, operator, "retry")
    with pytest.raises(refusals.Invalid, match="proof that it happened"):
        answer(asked, operator, "not_at_all")
    answer(asked, operator, "once")
    verifier.verify()


@pytest.mark.parametrize(("verdict", "state"), [("not_at_all", "void"), ("once", "standing")])
def test_3_3_recorded_as_done_and_never_sent(
    start: Start, reviewer: models.User, operator: models.User, verdict: str, state: str
) -> None:
    """'It happened' and evidence that it was never sent: unknown until somebody has looked, also after the end."""
    run, question = doubted(start, reviewer)
    answer(question, reviewer, "happened", receipt="Seen, I thought.")
    run = go(run)
    assert run.status == "succeeded"
    learn(run, "did_not_happen")
    occurrence = models.Occurrence.objects.get(root=run)
    assert (occurrence.state, occurrence.contradicted) == ("unknown", True)
    asked = only_review(run)
    assert asked.title.endswith("may have happened not at all")
    verifier.verify()
    answer(asked, operator, verdict)
    occurrence.refresh_from_db()
    assert (occurrence.state, occurrence.contradicted) == (state, True)
    verifier.verify()


def test_3_3_evidence_before_the_second_intent_wins(start: Start, reviewer: models.User) -> None:
    """'Did not happen: do it' is approved, but not sent: the receipt arrives, and the approval is void."""
    run, question = doubted(start, reviewer, before=False)
    answer(question, reviewer, "absent_do", rendered_at=tomorrow())
    run = go(run)
    again = only_review(run)
    answer(again, reviewer, "approve")
    learn(run, "happened")
    run = go(run)
    again.refresh_from_db()
    assert (run.status, again.status, again.consumed_by) == ("succeeded", "superseded", None)
    assert len(World.effects("mail")) == 1
    assert models.Occurrence.objects.get(root=run).state == "standing"
    verifier.verify()


def test_3_3_evidence_in_the_second_send_is_a_contradiction(start: Start, reviewer: models.User) -> None:
    """The second send is under way when the first one's receipt arrives: settled as done, and asked about."""
    run, question = doubted(start, reviewer, before=False)
    answer(question, reviewer, "absent_do", rendered_at=tomorrow())
    run = go(run)
    answer(only_review(run), reviewer, "approve")
    crash(run, before=True)
    learn(run, "happened")
    run = go(run)
    assert run.status == "succeeded", run.error
    occurrence = models.Occurrence.objects.get(root=run)
    assert (occurrence.state, occurrence.contradicted) == ("standing", True)
    assert only_review(run).title.endswith("twice")
    assert len(World.effects("mail")) == 1
    verifier.verify()


def test_3_3_an_answer_that_was_not_read_yet_is_contradicted_too(start: Start, reviewer: models.User) -> None:
    """'It did not happen: leave it' waits in the inbox when the receipt arrives behind it."""
    run, question = doubted(start, reviewer, before=False)
    answer(question, reviewer, "absent_leave", rendered_at=tomorrow())
    learn(run, "happened")
    run = go(run)
    occurrence = models.Occurrence.objects.get(root=run)
    assert (occurrence.state, occurrence.contradicted) == ("standing", True)
    assert (
        models.Review.objects.filter(run=run, status="open", content__contains="contradiction").count() == 1
    )
    verifier.verify()


@pytest.mark.parametrize(("outcome", "state"), [("happened", "standing"), ("did_not_happen", "void")])
def test_1_15_late_evidence_settles_what_was_abandoned(
    start: Start, reviewer: models.User, outcome: str, state: str
) -> None:
    """Abandoning closes the action, not the occurrence: it is unknown until evidence says."""
    run, question = doubted(start, reviewer)
    answer(question, reviewer, "unknown")
    run = go(run)
    assert run.status == "succeeded"
    learn(run, outcome)
    occurrence = models.Occurrence.objects.get(root=run)
    assert (occurrence.state, occurrence.contradicted) == (state, False)
    assert models.Action.objects.get(run=run).status == "abandoned"
    verifier.verify()


def test_3_3_one_send_refused_is_no_word_against_another(start: Start, reviewer: models.User) -> None:
    """The first send was never made, the second stands: evidence about the first contradicts nothing."""
    run = released(start, reviewer, "idempotent")
    crash(run, before=True)
    run = go(run)
    assert run.status == "succeeded"
    learn(run, "did_not_happen", attempt=1)
    occurrence = models.Occurrence.objects.get(root=run)
    assert (occurrence.state, occurrence.contradicted) == ("standing", False)
    verifier.verify()
