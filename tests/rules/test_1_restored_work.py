"""Work that was begun or handed over in the lost part of a history: its effects can't be found, nor its keys reused."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import origin, verifier
from runs.transitions import restores, switches
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World
from tests.rules.handing import agent, back, child_of, hands, only_action
from tests.rules.test_1_restored import copied

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_1_13_work_that_may_have_been_handed_over_is_asked_about(
    begin: Start, reviewer: models.User, person: Callable[..., models.User]
) -> None:
    """The child and its letter came after the dump: a new child would write another, under another key."""
    admin = Actor(user=person("ada", "admin"))
    run = begin(hands(agent(step("allowed", "draft"))))
    origin.ensure()
    with copied() as old:
        go(run)
        go(child_of(run))
        assert (back(run).status, len(World.effects("draft"))) == ("succeeded", 1)
        with old():
            go(models.Run.objects.get(pk=run.pk))
            restores.release(reason="the old server is switched off", by=admin)
            go(run)
            assert not models.Run.objects.filter(parent=run).exists()
            question = only_review(run)
            assert (question.kind, only_action(run).status) == ("action", "held")
            answer(question, reviewer, "approve")
            go(run)
            go(child_of(run))
            assert back(run).status == "succeeded"
            verifier.verify()


def test_1_13_work_that_was_known_at_the_dump_needs_no_question(
    begin: Start, reviewer: models.User, person: Callable[..., models.User]
) -> None:
    """The child is in the dump: what it did since is found out by its keys."""
    run = go(begin(hands(agent(step("lookup", "letter")))))
    child = child_of(run)
    with copied() as old:
        answer(only_review(go(child)), reviewer, "approve")
        go(child)
        with old():
            go(models.Run.objects.get(pk=child.pk))
            restores.release(reason="the old server is switched off", by=Actor(user=person("ada", "admin")))
            answer(only_review(go(child)), reviewer, "approve")
            assert go(child).status == "succeeded"
            assert back(run).status == "succeeded"
            assert len(World.effects("letter")) == 1
            verifier.verify()


def test_1_13_a_process_forgets_what_it_kept_of_the_lost_part(
    start: Start, person: Callable[..., models.User]
) -> None:
    """Numbers of policies are given anew: one that asks has the number of a lost one that let everything through."""
    admin = Actor(user=person("ada", "admin"))

    def policy(verdict: str) -> int | None:
        rule = {"name": "letters", "match": {"tool": "world.lookup"}, "verdict": verdict}
        switches.set_policy({"version": 1, "rules": [rule]}, reason="for the test", by=admin)
        return models.Installation.objects.get(pk=1).policy_version_id

    origin.ensure()
    with copied() as old:
        lost = policy("allow")
        assert go(start(step("lookup", "letter"))).status == "succeeded"
        with old():
            assert policy("review") == lost
            run = go(start(step("lookup", "letter")))
            restores.release(reason="the old server is switched off", by=admin)
            assert go(run).status == "waiting"
            assert only_review(run).kind == "action"


def test_1_13_what_is_started_afterwards_has_no_key_of_what_was_lost(
    start: Start, person: Callable[..., models.User]
) -> None:
    """Another piece of work, begun after the dump and lost, would otherwise have the same number, so the same keys."""
    with copied() as inside:
        lost = go(start(step("allowed", "draft")))
        key = models.Occurrence.objects.get(owner__run=lost).key
        with inside():
            origin.ensure()
            restores.release(reason="The old server is off.", by=Actor(user=person("ada", "admin")))
            new = go(start(step("allowed", "draft")))
            assert new.status == "succeeded"
            assert new.pk > lost.pk + 900_000
            assert models.Occurrence.objects.get(owner__run=new).key != key
