"""One effect that may or may not have happened holds up the same again: held, without a question of its own."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import clock, verifier
from runs.transitions import answers, evidence
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import crash, tomorrow
from tests.engine.world import World
from tests.rules.branching import checkpoint, redrive, through
from tests.rules.test_4_order import rows

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def twice(start: Start, reviewer: models.User) -> models.Run:
    """A run whose first effect nobody knows to have happened, and which proposes the same again."""
    run = go(
        start(step("unprotected", "pay", id="one", required=False), step("unprotected", "pay", id="two"))
    )
    answer(only_review(run), reviewer, "approve")
    crash(run, before=True)
    return go(run)


def given_up(start: Start, reviewer: models.User) -> models.Run:
    """The same run, when the first effect was given up as unknowable."""
    run = twice(start, reviewer)
    answer(only_review(run), reviewer, "unknown")
    return go(run)


def held(run: models.Run) -> models.Action:
    """The action that waits, which nobody is asked about."""
    action = models.Action.objects.get(run=run, status="held")
    assert action.blocked_by is not None
    assert not models.Review.objects.filter(action=action).exists()
    return action


def test_1_4_the_same_again_is_held_and_only_the_earlier_one_is_asked_about(
    start: Start, reviewer: models.User
) -> None:
    """Approving the second would be approving a doubling: it stays held until somebody says what came of the first."""
    run = given_up(start, reviewer)
    assert (run.status, run.reason) == ("waiting", "blocked")
    waiting = held(run)
    question = only_review(run)
    assert (question.kind, question.action_id) == (
        "in_doubt",
        waiting.blocked_by and waiting.blocked_by.owner_id,
    )
    verifier.verify()


@pytest.mark.parametrize(("said", "effects"), [("absent_leave", 1), ("happened", 0)])
def test_1_4_it_goes_on_when_that_settles(
    start: Start, reviewer: models.User, said: str, effects: int
) -> None:
    """Void: through the gate. Standing on this path: it is a duplicate, and a person says whether it is meant."""
    run = given_up(start, reviewer)
    waiting = held(run)
    answer(only_review(run), reviewer, said, rendered_at=tomorrow(), receipt="Seen on the statement.")
    run = go(run)
    own = only_review(run)
    assert (own.kind, own.action_id) == ("action", waiting.pk)
    assert "already proposed or done" in own.content["why"]
    answer(own, reviewer, "approve" if effects else "reject")
    assert go(run).status == "succeeded"
    assert len(World.effects("pay")) == effects
    verifier.verify()


def test_1_4_what_stays_unknowable_closes_it_undone(start: Start, reviewer: models.User) -> None:
    """Nobody is asked for ever."""
    run = given_up(start, reviewer)
    waiting = held(run)
    answer(only_review(run), reviewer, "unknown")
    assert go(run).status == "succeeded"
    waiting.refresh_from_db()
    assert (waiting.status, World.effects()) == ("superseded", [])
    verifier.verify()


def test_1_4_what_was_released_before_waits_too_and_keeps_its_approval(
    start: Start, reviewer: models.User
) -> None:
    """Two siblings were asked about together; the first ends in doubt, so the second, though approved, waits for it."""
    run = go(start(rows("unprotected", "pay", "pay")))
    first, second = models.Review.objects.filter(run=run).order_by("pk")
    answer(first, reviewer, "approve")
    crash(run, before=True)
    answer(second, reviewer, "approve")  # asked and released before anybody knew
    run = go(run)
    waiting = models.Action.objects.get(pk=second.action_id or 0)
    assert (waiting.status, run.reason, len(World.effects())) == ("approved", "blocked", 0)
    answer(only_review(run), reviewer, "unknown")
    run = go(run)
    question = only_review(run)  # given up, but the second still waits for it: it is asked about for its sake
    assert (question.kind, question.action_id) == ("in_doubt", first.action_id)
    answer(question, reviewer, "absent_leave", rendered_at=tomorrow())
    assert go(run).status == "succeeded"
    assert len(World.effects("pay")) == 1
    verifier.verify()


@pytest.mark.parametrize("outcome", ["happened", "did_not_happen"])
def test_1_4_late_evidence_about_a_closed_attempt_lets_the_new_one_go_on(
    start: Start, reviewer: models.User, operator: models.User, outcome: str
) -> None:
    """Standing: absorbed, and nobody is asked. Void: through the gate. The question about it is settled either way."""
    run = go(start(step("unprotected", "pay", required=False)))
    answer(only_review(run), reviewer, "approve")
    crash(run, before=True)
    answer(only_review(go(run)), reviewer, "unknown")
    assert go(run).status == "succeeded"
    new = go(redrive(run, checkpoint(run, "planned"), operator))
    waiting, question = held(new), only_review(new)
    content = {"summary": "It is in the statement.", "reason": "it is not in the statement"}
    evidence.append(question.action_id or 0, attempt=1, outcome=outcome, source="worker", content=content)
    clock.tick()
    new = through(new, reviewer)
    assert new.status == "succeeded", new.error
    question.refresh_from_db()
    waiting.refresh_from_db()
    assert question.status == "settled"
    assert waiting.status == ("absorbed" if outcome == "happened" else "succeeded")
    assert len(World.effects("pay")) == (0 if outcome == "happened" else 1)
    verifier.verify()


def test_1_11_while_the_old_one_is_unknown_only_waiting_is_offered(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """Another amount for the same thing: neither kept nor done too before it is known what came of the first."""
    run = go(start(step("unprotected", "pay", required=False)))
    number = run.checkpoint_number
    call = models.Action.objects.get(run=run)
    answer(only_review(run), reviewer, "approve")
    crash(run, before=True)
    answer(only_review(go(run)), reviewer, "unknown")
    assert go(run).status == "succeeded"
    other = {(call.reply_position, call.call_index): {"name": "pay", "amount": "2.00"}}
    new = go(redrive(run, number, operator, arguments=other))
    held(new)
    question = only_review(new)
    assert (question.kind, answers.offered(question)) == (
        "in_doubt",
        ("happened", "absent_do", "absent_leave", "unknown"),
    )
    answer(question, reviewer, "happened", receipt="Seen.")
    own = only_review(go(new))
    assert [item["arguments"]["amount"] for item in own.content["beside"]] == ["1.00"]
    assert "keep" in answers.offered(own)
