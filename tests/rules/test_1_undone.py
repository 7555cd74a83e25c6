"""What becomes of an effect that is taken back, or may be: never absorbed, unknown while its undo is in doubt."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from runs.transitions import evidence
from runs.transitions.refusals import Stale
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import crash, tomorrow
from tests.engine.world import World
from tests.rules.branching import checkpoint, redrive, through
from tests.rules.reversing import ask, done, state

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_1_2_an_undone_effect_is_never_absorbed_and_its_key_never_used_again(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Undone, then proposed again: it is done again, under a new key; absorbed it would be missing in the world."""
    run = start(step("back", "pay"))
    row = done(run, reviewer)
    through(ask(row, operator), reviewer)
    assert state(row) == "undone"
    new = redrive(run, checkpoint(run, "planned"), operator)
    assert through(new, reviewer).status == "succeeded", new.error
    keys = [line["key"] for line in World.effects("pay")]
    assert (len(keys), len(set(keys))) == (2, 2)
    assert models.Action.objects.get(run=new).status == "succeeded"
    numbers = models.Occurrence.objects.filter(tool="world.back").order_by("n").values_list("n", "state")
    assert list(numbers) == [(0, "undone"), (1, "standing")]
    verifier.verify()


def test_1_2_paid_undone_paid_again_then_proposed_once_is_absorbed(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """What stands is the second one: a later attempt that proposes it once does nothing more."""
    run = start(step("back", "pay"))
    row = done(run, reviewer)
    through(ask(row, operator), reviewer)
    through(redrive(run, checkpoint(run, "planned"), operator), reviewer)
    last = go(redrive(run, checkpoint(run, "planned"), operator))
    assert last.status == "succeeded", last.error
    assert len(World.effects("pay")) == 2
    assert models.Action.objects.get(run=last).status == "absorbed"
    verifier.verify()


@pytest.mark.parametrize("happened", [True, False])
def test_1_2_an_undo_in_doubt_makes_the_effect_unknown(
    start: Start, operator: models.User, reviewer: models.User, happened: bool
) -> None:
    """The worker dies at the undo: a person says whether it happened, and until then nobody knows what stands."""
    row = done(start(step("blind", "pay")), reviewer)
    new = go(ask(row, operator))
    answer(only_review(new), reviewer, "approve")
    crash(new, before=not happened)
    question = only_review(go(new))
    assert (question.kind, state(row)) == ("in_doubt", "unknown")
    verifier.verify()
    with pytest.raises(Stale, match="isn't known yet"):
        ask(row, operator)
    if happened:
        answer(question, reviewer, "happened", receipt="seen in the books")
        assert go(new).status == "succeeded", new.error
        assert state(row) == "undone"
    else:
        answer(question, reviewer, "absent_leave", rendered_at=tomorrow())
        assert go(new).status == "failed"
        assert state(row) == "standing"
    verifier.verify()


def test_1_2_an_undo_that_can_be_looked_up_asks_nobody(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """It goes up the same ladder as any effect: the world is asked first."""
    row = done(start(step("back", "pay")), reviewer)
    new = go(ask(row, operator))
    answer(only_review(new), reviewer, "approve")
    crash(new, before=False)
    assert go(new).status == "succeeded", new.error
    assert (state(row), len(World.effects("undo pay"))) == ("undone", 1)
    verifier.verify()


def test_1_2_an_undo_that_was_given_up_is_asked_about_again(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Nobody could say whether the undo happened: what proposes the same again waits for that, and asks."""
    run = start(step("blind", "pay"))
    row = done(run, reviewer)
    new = go(ask(row, operator))
    answer(only_review(new), reviewer, "approve")
    crash(new, before=False)
    answer(only_review(go(new)), reviewer, "unknown")
    new = go(new)
    assert (new.status, state(row)) == ("failed", "unknown")
    verifier.verify()
    last = redrive(run, checkpoint(run, "planned"), operator)
    last = go(last)
    assert (last.status, last.reason) == ("waiting", "blocked")
    question = only_review(last)
    assert question.action is not None
    assert (question.kind, question.action.undo_of_id) == ("in_doubt", row.pk)
    answer(question, reviewer, "happened", receipt="it is gone")
    assert through(last, reviewer).status == "succeeded", last.error
    assert (state(row), len(World.effects("pay"))) == ("undone", 2)
    verifier.verify()


def test_1_2_late_evidence_of_the_undo_counts_after_its_run_has_ended(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """It was left as not done, and did happen: the effect is undone, and the contradiction is shown."""
    row = done(start(step("blind", "pay")), reviewer)
    new = go(ask(row, operator))
    answer(only_review(new), reviewer, "approve")
    crash(new, before=False)
    answer(only_review(go(new)), reviewer, "absent_leave", rendered_at=tomorrow())
    go(new)
    undo = models.Action.objects.get(undo_of=row)
    content = {"summary": "It is gone.", "value": None}
    evidence.append(undo.pk, attempt=1, outcome="happened", source="worker", content=content)
    assert state(row) == "undone"
    assert models.Occurrence.objects.get(owner=undo).contradicted
    verifier.verify()
