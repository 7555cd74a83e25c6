"""Wake-ups aren't lost, refusals are told apart, and a COMMIT whose answer was lost changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import pytest
from django.db import OperationalError
from django.utils import timezone

from runs import models, points
from runs.engine import verifier
from runs.providers.playbook import Playbook
from runs.transitions import evidence, inbox, steps
from runs.transitions.committing import committing
from runs.transitions.refusals import LostAuthority
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import expire_lease
from tests.engine.world import Look, World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


@contextmanager
def lost_answer(point: str) -> Iterator[list[str]]:
    """Let the first commit of this kind succeed, and its answer be lost on the way."""
    lost: list[str] = []

    def reach(name: str) -> None:
        if name == f"{point}.after_commit" and not lost:
            lost.append(name)
            raise OperationalError("server closed the connection unexpectedly")

    points.arm(reach)
    try:
        yield lost
    finally:
        points.arm(None)


KINDS = ("claim", "reply", "read_reply", "prepare", "wait", "fold_in", "intent", "happened", "finish")


@pytest.mark.parametrize("kind", KINDS)
def test_4_2_a_commit_whose_answer_was_lost_doubles_nothing(
    start: Start, reviewer: models.User, kind: str
) -> None:
    """The engine reads again what came of it: no reply is asked for twice, no effect happens twice, nobody is asked."""
    run = start(step("look", "it"), step("unprotected", "mail"))
    with lost_answer(kind) as lost, mock.patch.object(Playbook, "complete", autospec=True) as complete:
        complete.side_effect = _real
        for _ in range(8):
            _on(run, reviewer)
    run.refresh_from_db()
    assert lost, f"no commit of the kind {kind} was made"
    assert run.status == "succeeded", (run.status, run.reason, run.error)
    assert len(World.effects("mail")) == 1
    assert len(Look.runs) == 1
    assert complete.call_count == models.Entry.objects.filter(run=run, kind="reply").count()
    assert not models.Review.objects.filter(run=run, kind="in_doubt").exists()
    verifier.verify()


_real = Playbook.complete


def _on(run: models.Run, reviewer: models.User) -> None:
    """Let time pass, let a worker take the run, and answer what is asked."""
    try:
        go(run)
    except OperationalError:  # of the claim: nobody knows of it, so its lease has to run out
        run.refresh_from_db()
    if run.status == "running":
        expire_lease(run)
    if run.status == "queued":
        models.Run.objects.filter(pk=run.pk).update(wake_at=timezone.now())
        models.Action.objects.filter(run=run).update(not_before=None)
    for review in models.Review.objects.filter(run=run, status="open", kind="action"):
        answer(review, reviewer, "approve")


def test_4_1_a_decision_while_the_engine_parks_is_not_lost(start: Start, reviewer: models.User) -> None:
    """The engine has decided to wait when the answer comes: it reads again instead of waiting for ever."""
    run = start(step("lookup", "mail"))
    real = steps.wait

    def late(*args: Any, **more: Any) -> None:
        if models.Review.objects.filter(run=run, status="open").exists():
            answer(only_review(run), reviewer, "approve")
        real(*args, **more)

    with mock.patch.object(steps, "wait", late):
        run = go(run)
    assert run.status == "succeeded"
    assert len(World.effects("mail")) == 1


def test_4_1_a_message_before_the_end_keeps_the_run_from_ending_unread(start: Start) -> None:
    """A fact that arrives while the run ends is folded in first."""
    run = start(step("look", "it"))
    real = steps.finish
    said: list[int] = []

    def late(*args: Any, **more: Any) -> None:
        if not said:
            with committing("test"):
                said.append(
                    inbox.leave(inbox.lock(run.pk), models.Fact.Kind.WAKE, {}, by=None, mover="S").number
                )
        real(*args, **more)

    with mock.patch.object(steps, "finish", late):
        run = go(run)
    assert (run.status, run.folded) == ("succeeded", said[0])
    verifier.verify()


def test_4_2_another_fence_means_stop_and_testify(start: Start, reviewer: models.User) -> None:
    """Zero rows because of a fact: plan again. Zero rows because of a fence: stop, and leave evidence only."""
    run = go(start(step("unprotected", "mail")))
    answer(only_review(run), reviewer, "approve")
    with mock.patch.object(steps, "happened", side_effect=LostAuthority("taken over")):
        go(run)
    row = models.Evidence.objects.get(action__run=run)
    assert (row.outcome, row.attempt) == ("happened", 1)
    assert models.Entry.objects.filter(run=run, kind="receipt").count() == 0
    expire_lease(run)
    assert go(run).status == "succeeded"
    assert len(World.effects("mail")) == 1
    verifier.verify()


def test_4_2_a_receipt_waits_for_a_database_that_is_away(start: Start, reviewer: models.User) -> None:
    """The effect happened and the database is gone for a moment: the worker holds on to what it knows."""
    run = go(start(step("unprotected", "mail")))
    answer(only_review(run), reviewer, "approve")
    real, calls = steps.happened, [OperationalError("away"), OperationalError("still away")]

    def flaky(*args: Any, **more: Any) -> None:
        if calls:
            raise calls.pop()
        real(*args, **more)

    with mock.patch.object(steps, "happened", flaky):
        run = go(run)
    assert run.status == "succeeded"
    assert not models.Review.objects.filter(run=run, kind="in_doubt").exists()


def test_6_8_no_checkpoint_without_a_new_entry(start: Start) -> None:
    """A waiting run that is woken for nothing parks again and leaves no second checkpoint."""
    run = go(start(step("lookup", "mail")))
    before = run.checkpoint_number
    models.Run.objects.filter(pk=run.pk).update(status="queued", wake_at=timezone.now())
    run = go(run)
    assert (run.status, run.checkpoint_number) == ("waiting", before)


def test_6_5_only_the_claimed_engine_appends(start: Start) -> None:
    """What people and zombies say is a fact in the inbox; the log gets it at the engine's next turn, in order."""
    run = go(start(step("lookup", "mail")))
    position = run.position
    action = models.Action.objects.get(run=run)
    for number in (1, 2):
        evidence.append(action.pk, attempt=number, outcome="did_not_happen", source="test",
                        content={"reason": str(number), "summary": str(number)})  # fmt: skip
    run.refresh_from_db()
    assert (run.position, run.inbox) == (position, run.folded + 2)
    run = go(run)
    notes = models.Entry.objects.filter(run=run, position__gt=position, kind="note").order_by("position")
    folded = [note.content["evidence"] for note in notes]
    assert folded == sorted(folded)
    assert len(folded) == 2
    assert run.folded == run.inbox
    verifier.verify()
