"""A failed run that a person has tried again: the failed step is a new action that names the one before it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from runs.selectors import review_facts
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_4_9_a_failed_step_is_a_new_action_that_names_the_one_before(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """The same arguments again, through the gate: a new question, a new key; the old approval covers nothing."""
    World.absent = "the account is locked"
    run = go(start(step("lookup", "pay")))
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    World.absent = ""
    first = models.Action.objects.get(run=run)
    assert (run.status, first.status) == ("failed", "failed")
    answer(only_review(run), operator, "retry", reason="it is unlocked")
    run = go(run)
    second = models.Action.objects.exclude(pk=first.pk).get(run=run)
    assert (run.attempts, second.status, second.retry_of_id) == (0, "held", first.pk)
    question = only_review(run)
    assert ("Tried before", "the account is locked") in [
        (fact.label, fact.value) for fact in review_facts.facts(question, {})
    ]
    answer(question, reviewer, "approve")
    assert go(run).status == "succeeded"
    assert len(World.effects("pay")) == 1
    keys = set(models.Occurrence.objects.filter(root=run).values_list("key", flat=True))
    assert len(keys) == 2
    notes = models.Entry.objects.filter(run=run, kind="note")
    assert [line.content["code"] for line in notes if line.content.get("reopened")] == ["retry"]
    verifier.verify()


def test_4_9_what_the_agent_proposes_again_by_itself_is_no_retry(start: Start, reviewer: models.User) -> None:
    """Only a person's word has something tried again."""
    World.absent = "the account is locked"
    run = go(start(step("lookup", "pay", required=False), step("lookup", "pay", id="again")))
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    World.absent = ""
    assert models.Action.objects.filter(run=run).order_by("-pk")[0].retry_of_id is None
