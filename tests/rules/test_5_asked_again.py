"""Asking again: after a refusal it is refused in words, after an expiry it is asked, and deadlines answer nothing."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import exact, models
from runs.engine import verifier
from runs.providers import contract
from runs.selectors import review_facts
from runs.tools import contract as contract_of_tools
from runs.transitions import clocks, refusals
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_bad_replies import FINISH, said, scripted
from tests.engine.test_unknown import doubted
from tests.engine.world import Look, World
from tests.rules.test_5_edits import change

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
PAY = contract.Call(tool="world.lookup", arguments={"name": "seven"})
THIRD = contract.Call(tool="world.lookup", arguments={"name": "eight"})
OTHER = contract.Call(tool="world.lookup", arguments={"name": "seven", "amount": "2.00"})


def refused(start: Start, reviewer: models.User) -> models.Run:
    """A run whose one proposal a person has rejected."""
    run = scripted(start(), contract.Reply(calls=(PAY,)))
    answer(only_review(run), reviewer, "reject", reason="it is paid")
    return run


def test_5_7_just_the_same_is_refused_in_words_without_a_question(
    start: Start, reviewer: models.User
) -> None:
    """The same tool with the same arguments after a person's refusal: closed at once, and nobody is asked."""
    run = scripted(refused(start, reviewer), contract.Reply(calls=(PAY,)), contract.Reply(calls=(FINISH,)))
    assert run.status == "succeeded", run.error
    assert "rita refused exactly this before. Reason: it is paid" in said(run)[1]
    assert models.Review.objects.filter(run=run).count() == 1
    assert World.effects() == []
    verifier.verify()


def test_5_7_other_arguments_are_asked_about(start: Start, reviewer: models.User) -> None:
    """Only the same digest is refused so; a corrected proposal is a new question."""
    run = scripted(refused(start, reviewer), contract.Reply(calls=(OTHER,)))
    assert (run.status, only_review(run).kind) == ("waiting", "action")
    verifier.verify()


def test_5_7_the_third_time_the_run_fails_with_a_question(start: Start, reviewer: models.User) -> None:
    """Who keeps proposing what was refused stops, and an operator says what next."""
    run = scripted(refused(start, reviewer), *[contract.Reply(calls=(PAY,))] * 3)
    assert run.status == "failed"
    assert "keeps proposing what was refused" in run.error
    assert only_review(run).kind == "failure"
    assert World.effects() == []
    verifier.verify()


@pytest.mark.parametrize("then", ["approve", "reject"])
def test_5_7_what_a_person_changed_is_not_asked_about_again(
    start: Start, reviewer: models.User, then: str
) -> None:
    """The original of an edit is refused in words, with what was changed and why; the third time the run fails."""
    run = scripted(start(), contract.Reply(calls=(PAY,)))
    change(only_review(run), reviewer, "wrong sum", amount="2.00")
    run = go(run)
    answer(only_review(run), reviewer, then, reason="so")
    run = scripted(run, contract.Reply(calls=(PAY,)), contract.Reply(calls=(THIRD,)))
    told = said(run)[1]
    assert told.startswith("Not done, and not asked again: a person changed exactly this before.")
    assert 'rita changed the arguments: amount from "1.00" to "2.00". Reason: wrong sum' in told
    assert ("It was done as they changed it." in told) == (then == "approve")
    assert only_review(run).title == "Will do eight."  # other arguments are asked about
    assert len(World.effects()) == (then == "approve")
    answer(only_review(run), reviewer, "reject", reason="so")
    run = scripted(run, *[contract.Reply(calls=(PAY,))] * 2)
    assert (run.status, "keeps proposing what was refused" in run.error) == ("failed", True)
    verifier.verify()


def test_5_7_what_expired_is_asked_again(start: Start) -> None:
    """An expiry is no refusal: the same may be proposed again, and is asked about."""
    run = scripted(start(), contract.Reply(calls=(PAY,)))
    with clockwork.ahead(hours=25):
        models.Review.objects.update(expires_at=models.Review.objects.get().opened_at)
        assert clocks.expire_reviews() == 1
        run = scripted(run, contract.Reply(calls=(PAY,)))
        assert (run.status, only_review(run).kind) == ("waiting", "action")
    verifier.verify()


def test_5_7_asking_back_refuses_nothing_for_good(start: Start, reviewer: models.User) -> None:
    """After a question back the same may be proposed again, with the answer in the agent's words."""
    run = scripted(start(), contract.Reply(calls=(PAY,)))
    answer(only_review(run), reviewer, "ask_back", reason="Why now?")
    run = scripted(run, contract.Reply(text="It is due today.", calls=(PAY,)))
    assert (run.status, only_review(run).kind) == ("waiting", "action")


def test_5_8_a_doubt_never_expires_to_an_answer(start: Start, reviewer: models.User) -> None:
    """Days after its due time the question is still open, and overdue."""
    _, question = doubted(start, reviewer)
    with clockwork.ahead(hours=200):
        assert clocks.expire_reviews() == 0
    question.refresh_from_db()
    assert (question.status, question.expires_at) == ("open", None)


def test_5_6_the_next_proposal_answers_the_question(start: Start, reviewer: models.User) -> None:
    """Whoever decides about it sees what was asked, and the question that it was asked in; later ones are no answer."""
    run = scripted(start(), contract.Reply(calls=(PAY,)))
    first = only_review(run)
    answer(first, reviewer, "ask_back", reason="Net or gross?")
    run = scripted(run, contract.Reply(calls=(OTHER,)))
    second = only_review(run)
    assert second.content["answers"] == {"review": first.pk, "by": "rita", "question": "Net or gross?"}
    facts = {fact.label: fact.value for fact in review_facts.facts(second, {})}
    assert facts["Proposed in answer"] == "rita asked: Net or gross?"
    answer(second, reviewer, "reject", reason="not now")
    run = scripted(run, contract.Reply(calls=(THIRD,)))
    assert "answers" not in only_review(run).content
    verifier.verify()


def test_5_8_what_never_expires_escalates_once_and_stays_overdue(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """Doubt, failure and budget: no deadline answers them. Administrators are added once they are due."""
    _, doubt = doubted(start, reviewer)
    Look.failures = [contract_of_tools.DidNotHappen("The file is not there.")]
    failure = only_review(go(start(step("look", "it"))))
    budget = only_review(go(start(step("look", "a"), step("look", "b", id="b"), budget={"steps": 2})))
    held = only_review(go(start(step("lookup", "mail"))))
    asked = [doubt, failure, budget]
    assert [row.kind for row in asked] == ["in_doubt", "failure", "budget"]
    assert clocks.escalate() == 0
    with clockwork.ahead(hours=5):
        assert clocks.expire_reviews() == 0
        assert (clocks.escalate(), clocks.escalate()) == (3, 0)
    with clockwork.ahead(hours=1000):
        clocks.expire_reviews()
        assert clocks.escalate() == 0
    for row in asked:
        row.refresh_from_db()
        assert (row.status, "admin" in row.groups, row.expires_at) == ("open", True, None)
    held.refresh_from_db()
    assert (held.status, held.groups) == ("expired", ["reviewer"])
    assert models.AuditEvent.objects.filter(act="review.escalated").count() == 3
    answer(failure, operator, "stop")  # whoever could answer still can
    verifier.verify()


def test_5_8_a_failure_question_names_its_checkpoint_and_its_cause(
    start: Start, operator: models.User
) -> None:
    """After a retry that fails again it is another question, and an answer to the first counts for nothing."""
    Look.failures = [contract_of_tools.DidNotHappen("The file is not there.")]
    run = go(start(step("look", "it")))
    first = only_review(run)
    assert first.digest == exact.link(run.pk, run.checkpoint_number, run.error)
    answer(first, operator, "retry")
    Look.failures = [contract_of_tools.DidNotHappen("The file is not there.")]
    run = go(run)
    second = only_review(run)
    assert (second.pk != first.pk, second.digest != first.digest) == (True, True)
    with pytest.raises(refusals.Stale):
        answer(second, operator, "retry", digest=first.digest)
    with pytest.raises(refusals.Stale):
        answer(first, operator, "stop")
