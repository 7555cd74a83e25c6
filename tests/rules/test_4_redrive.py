"""Re-drives while the old attempt still goes on, and what becomes of the old attempt."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any
from unittest import mock

import pytest
from django.db import connection

from runs import models
from runs.engine import verifier, worker
from runs.tools.contract import DidNotHappen
from runs.transitions import clocks, redrives, undos
from runs.transitions.actor import Actor
from runs.transitions.refusals import NotYours, Stale
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Look, World
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_4_4_the_current_attempt_is_superseded_once(start: Start, operator: models.User) -> None:
    """Whoever re-drives an attempt that another has taken over from is told so; the pointer is set once."""
    run = go(start(step("look", "it")))
    new = redrive(run, 1, operator, seen=run.pk)
    run.refresh_from_db()
    assert (run.status, run.superseded_by) == ("succeeded", new)
    with pytest.raises(Stale, match="taken over"):
        redrive(run, 1, operator, seen=run.pk)
    third = redrive(run, 1, operator)  # from a checkpoint of the first attempt, in place of the second
    new.refresh_from_db()
    assert new.superseded_by == third
    worker.drain(until_idle=False)
    assert [row.status for row in models.Run.objects.order_by("pk")] == [
        "succeeded",
        "cancelled",
        "succeeded",
    ]
    verifier.verify()


def test_5_5_the_same_form_twice_at_once_is_one_attempt(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """A double click: both have looked whether the form was used before either has made the run."""
    run = go(start(step("back", "pay")))
    answer(only_review(run), reviewer, "approve")
    go(run)
    effect = models.Occurrence.objects.get()
    with meeting(redrives, "_current"):
        made = twice(lambda: redrive(run, 1, operator, seen=run.pk, token="form"))
    assert made == [run.pk + 1] * 2
    worker.drain(until_idle=False)
    with meeting(undos, "_current"):
        asked = twice(lambda: undos.ask(effect.pk, reason="no", by=Actor(user=operator), token="undo"))
    assert asked == [run.pk + 2] * 2
    verifier.verify()


@contextmanager
def meeting(module: ModuleType, name: str) -> Iterator[None]:
    """Let two threads wait for each other before this function of the module."""
    real, both = getattr(module, name), threading.Barrier(2, timeout=10)

    def met(*args: Any) -> Any:
        both.wait()
        return real(*args)

    with mock.patch.object(module, name, met):
        yield


def twice(act: Callable[[], models.Run]) -> list[int]:
    """Return the numbers of the runs that two threads got at once."""
    found: list[int] = []

    def one() -> None:
        try:
            found.append(act().pk)
        finally:
            connection.close()

    threads = [threading.Thread(target=one) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def test_4_4_a_superseded_attempt_is_never_retried(start: Start, operator: models.User) -> None:
    """The question that a failure asked is closed once another attempt has taken over."""
    Look.failures = [DidNotHappen("The file is not there.")]
    run = go(start(step("look", "it")))
    assert run.status == "failed"
    review = only_review(run)
    redrive(run, run.checkpoint_number, operator)
    with pytest.raises(Stale):
        answer(review, operator, "retry")
    review.refresh_from_db()
    run.refresh_from_db()
    assert (review.status, run.status) == ("superseded", "failed")
    verifier.verify()


def test_4_5_the_new_attempt_waits_until_the_old_one_has_ended(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """The old attempt is stopped, its questions are closed, and no approval is carried over."""
    run = go(start(step("lookup", "pay")))
    review = only_review(run)
    answer(review, reviewer, "approve")
    new = redrive(run, checkpoint(run, "planned"), operator)
    assert go(new).status == "queued"
    assert clocks.next_due() == run.pk
    assert go(run).status == "cancelled"
    review.refresh_from_db()
    assert (review.status, World.effects()) == ("superseded", [])
    assert clocks.next_due() == new.pk
    assert through(new, reviewer).status == "succeeded"
    assert len(World.effects("pay")) == 1
    verifier.verify()


def test_4_5_the_new_attempt_waits_until_it_is_known_what_happened(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """An effect whose outcome nobody knows keeps the new attempt from starting, until a person gives it up."""

    def lost() -> None:
        raise ConnectionError("the answer was lost")

    run = go(start(step("unprotected", "parcel")))
    answer(only_review(run), reviewer, "approve")
    World.after = lost
    run = go(run)
    World.after = None
    new = redrive(run, checkpoint(run, "planned"), operator)
    assert (go(run).status, run.reason) == ("waiting", "stop_unsettled")
    assert go(new).status == "queued"
    assert worker.drain(until_idle=True) == 0
    answer(only_review(run), reviewer, "unknown")
    assert go(run).status == "cancelled"
    assert go(new).status == "waiting"
    verifier.verify()


def test_4_5_only_operators_go_on_from_a_checkpoint(
    start: Start, operator: models.User, reviewer: models.User
) -> None:
    """Re-driving is starting: it needs the same right."""
    run = go(start(step("look", "it")))
    with pytest.raises(NotYours):
        redrive(run, 1, reviewer)
