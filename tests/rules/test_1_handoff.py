"""Rules 1.10, 4.11 and 8.3: work that is handed to another agent, and what comes back of it."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError
from django.db.models.functions import Now

from runs import models, points, seed
from runs.engine import advance, clock, verifier, worker
from runs.engine import handing as handing_over
from runs.tools import handing
from runs.tools.contract import DidNotHappen
from runs.transitions import clocks, holds, steps, switches
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Look, World
from tests.rules.branching import checkpoint, redrive, texts
from tests.rules.handing import agent, back, child_of, hands, only_action

_numbers = itertools.count()
Start = Callable[..., models.Run]


@pytest.fixture
def asked(person: Callable[..., models.User]) -> None:
    """Policy asks about every hand-off."""
    rule = {"name": "handed over", "match": {"tool": "hand_off.*"}, "verdict": "review"}
    by = Actor(user=person("ada", "admin"))
    switches.set_policy({"version": 1, "rules": [rule]}, reason="for the test", by=by)


def test_1_10_the_intent_makes_the_child_and_its_end_is_the_receipt(
    begin: Start, reviewer: models.User, asked: None
) -> None:
    """A hand-off is asked about like any effect; then the parent waits as data until the child has ended."""
    budget = {"steps": 30, "cost_micro": 500_000}
    run = go(
        begin(hands(agent(step("look"), result="paid", budget=budget)), step("look", "after", id="after"))
    )
    review = only_review(run)
    shown = (only_action(run).preview or {})["facts"]
    assert shown == [["what", "it"], ["Limits of its run", "30 turns, $0.50"]]
    assert review.title == "Hand “letter 7” to the agent “Another agent”."
    assert not models.Run.objects.filter(parent=run).exists()
    answer(review, reviewer, "approve")
    go(run)
    assert (run.status, run.reason, run.lease_until, run.advance) == ("waiting", "child", None, None)
    child = child_of(run)
    assert (child.status, child.input, child.created_by) == ("queued", {"what": "it"}, run.created_by)
    assert clocks.wake_stranded() == 0  # it has something to wait for
    assert not advance.advance(run.pk)

    assert go(child).status == "succeeded"
    assert back(run).status == "succeeded"
    action = only_action(run)
    assert action.occurrence is not None
    assert (action.status, action.occurrence.state) == ("succeeded", "standing")
    assert child.handed_by == action.occurrence
    assert texts(run)[1] == "It is done."
    line = models.Entry.objects.get(run=run, position=action.receipt_position or 0)
    assert line.content["receipt"]["value"] == {"run": child.pk, "result": {"said": "paid"}}
    child.refresh_from_db()
    assert child.returned
    verifier.verify()


def test_1_10_what_was_approved_is_what_runs_also_of_the_other_agent(
    begin: Start, reviewer: models.User, asked: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another version of it came into use after the approval: it is asked about anew, and then that one runs."""
    name = agent(step("look"))
    run = go(begin(hands(name)))
    answer(only_review(run), reviewer, "approve")
    row = models.Agent.objects.get(name=name)
    assert row.current is not None
    seed.register(dataclasses.replace(row.current.declared(), instructions="Otherwise."))
    monkeypatch.setattr(handing_over, "FRESH", -1.0)
    go(run)
    again = only_review(run)
    assert not models.Run.objects.filter(parent=run).exists()
    answer(again, reviewer, "approve")
    go(run)
    assert child_of(run).agent_version.number == 2
    assert go(child_of(run)).status == "succeeded"
    assert back(run).status == "succeeded"


def test_one_process_does_it_all(begin: Start) -> None:
    """Draining makes the child, moves it, and goes on with what came back, without a clock beside it."""
    inner = agent(step("allowed"))
    middle = agent(hands(inner, "inner"), tools=(handing.PREFIX + inner,))
    run = begin(hands(middle))
    worker.drain(until_idle=False)
    run.refresh_from_db()
    assert run.status == "succeeded"
    assert (models.Run.objects.count(), len(World.effects())) == (3, 1)


def test_1_10_handed_over_again_the_result_stands_and_nothing_is_done_twice(
    begin: Start, operator: models.User, reviewer: models.User
) -> None:
    """The parent is re-driven from before its hand-off: the child's result is absorbed, its effects stay one."""
    run = go(begin(hands(agent(step("allowed"))), step("look")))
    go(child_of(run))
    back(run)
    new = redrive(run, checkpoint(run, "created"), operator)
    assert go(new).status == "succeeded"
    assert models.Run.objects.filter(parent__isnull=False).count() == 1
    assert only_action(new).status == "absorbed"
    assert len(World.effects()) == 1
    verifier.verify()


def test_1_10_what_came_to_nothing_goes_on_in_its_own_lineage(begin: Start, operator: models.User) -> None:
    """The child did one effect and was stopped. Handed over again it is the next attempt: that effect is absorbed."""
    name = agent(
        step("allowed"),
        {"id": "q", "title": "Ask", "ask": {"question": "Go on?", "schema": {"type": "string"}}},
    )
    run = go(begin(hands(name), step("look")))
    old = go(child_of(run))
    assert (old.status, len(World.effects())) == ("waiting", 1)
    holds.stop(old.pk, reason="not now", by=Actor(user=operator))
    assert go(old).status == "cancelled"
    back(run)
    action = only_action(run)
    assert action.occurrence is not None
    assert (action.status, action.occurrence.state) == ("failed", "void")
    assert texts(run)[1] == f"Not done: Run {old.pk} was stopped: not now"

    new = go(redrive(run, checkpoint(run, "created"), operator, reason="once more"))
    assert (new.status, new.reason) == ("waiting", "child")
    next_one = child_of(new)
    old.refresh_from_db()
    assert (next_one.root_id, old.superseded_by_id, next_one.parent_id) == (old.pk, next_one.pk, new.pk)
    assert go(next_one).status == "waiting"  # it asks again
    assert [row.status for row in models.Action.objects.filter(run=next_one)] == ["absorbed"]
    assert len(World.effects()) == 1
    verifier.verify()


def test_1_10_an_answer_to_the_commit_that_was_lost_makes_no_second_child(
    begin: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody takes the intent for one that was never sent: the child is there."""
    run = begin(hands(agent(step("allowed"))))
    real = steps.intent

    def lost(*args: Any, **kwargs: Any) -> Any:
        real(*args, **kwargs)
        raise OperationalError("the connection was lost")

    monkeypatch.setattr(steps, "intent", lost)
    go(run)
    monkeypatch.undo()
    assert (run.status, run.reason) == ("waiting", "child")
    go(child_of(run))
    assert back(run).status == "succeeded"
    assert (models.Run.objects.count(), len(World.effects())) == (2, 1)


def test_1_10_a_failed_child_is_waited_for_until_somebody_has_decided(
    begin: Start, operator: models.User, reviewer: models.User
) -> None:
    """It may still be tried again, or go on from a checkpoint: its next attempt is the one that is waited for."""
    run = go(
        begin(hands(agent(step("allowed", "file", id="a"), step("look", "missing", id="b"))), step("look"))
    )
    old = child_of(run)
    Look.failures = [DidNotHappen("it is not there")] * 3
    while go(old).status == "queued":
        models.Run.objects.filter(pk=old.pk).update(wake_at=Now())
    assert old.status == "failed"
    assert back(run).status == "waiting"
    Look.failures = []
    new = go(redrive(old, checkpoint(old, "created"), operator))
    assert (new.status, new.parent_id, new.handed_by_id) == ("succeeded", run.pk, old.handed_by_id)
    assert back(run).status == "succeeded"
    assert len(World.effects()) == 1
    verifier.verify()


def test_1_10_a_failed_child_that_is_left_so_is_told_to_its_parent(
    begin: Start, operator: models.User
) -> None:
    """Somebody says that it stays failed: only then the parent hears of it, and goes on without."""
    run = go(begin({**hands(agent(step("look", "missing"))), "required": False}, step("allowed", "after")))
    child = child_of(run)
    Look.failures = [DidNotHappen("it is not there")] * 3
    while go(child).status == "queued":
        models.Run.objects.filter(pk=child.pk).update(wake_at=Now())
    assert (child.status, back(run).status) == ("failed", "waiting")
    answer(only_review(child), operator, "stop")
    assert back(run).status == "succeeded"
    assert texts(run)[1].startswith(f"Not done: Run {child.pk} failed: ")
    verifier.verify()


def _points(begin: Start, reviewer: models.User) -> list[str]:
    """Return the points of the commits that make the child, tell of its end and read it, each once."""
    seen: list[str] = []
    points.arm(seen.append)
    try:
        _through(begin(hands(agent(step("idempotent"))), step("look")), reviewer)
    finally:
        points.arm(None)
    return sorted({point for point in seen if point.startswith(("intent.", "child_", "fold_in."))})


def _through(run: models.Run, reviewer: models.User) -> None:
    """Do what workers, the clock and a person would do until the run has ended."""
    for _ in range(12):
        clock.tick()
        for one in models.Run.objects.exclude(status__in=["succeeded", "failed", "cancelled"]).order_by("pk"):
            go(one)
        for review in models.Review.objects.filter(status="open"):
            answer(review, reviewer, "approve")
        if models.Run.objects.filter(pk=run.pk, status="succeeded").exists():
            return
    raise AssertionError(f"{models.Run.objects.values('pk', 'status', 'reason', 'error')}")


def test_1_10_a_death_at_any_point_makes_no_second_child_and_loses_none(
    begin: Start, reviewer: models.User
) -> None:
    """At each point on both sides of the commits that go between parent and child."""
    every = _points(begin, reviewer)
    assert {"intent.before_commit", "child_returned.before_commit", "child_returned.after_commit"} <= set(
        every
    )
    for number, point in enumerate(every):
        World.reset(World.path)
        run = begin(hands(agent(step("idempotent"))), step("look"))
        dies = iter([point])

        def reach(name: str, dies: Any = dies, point: str = point) -> None:
            if name == point and next(dies, None) is not None:
                raise KeyboardInterrupt

        points.arm(reach)
        try:
            _through(run, reviewer)
        except KeyboardInterrupt:
            models.Run.objects.filter(status="running").update(lease_until=run.created_at)
            _through(run, reviewer)
        finally:
            points.arm(None)
        children = models.Run.objects.filter(parent=run)
        assert [one.status for one in children] == ["succeeded"], point
        assert len(World.effects()) == 1, (number, point)
    verifier.verify()
