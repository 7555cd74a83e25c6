"""Rules 1.10, 4.11 and 8.3: work that is handed to another agent, and what comes back of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.db import OperationalError
from django.db.models.functions import Now

from runs import models, seed
from runs.engine import accounts, advance, clock, verifier
from runs.providers import declared
from runs.tools import handing
from runs.tools.contract import DidNotHappen
from runs.transitions import clocks, holds, starts, steps, switches
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Look, World
from tests.rules.branching import checkpoint, redrive, texts

_numbers = itertools.count()
Start = Callable[..., models.Run]


def agent(*steps: dict[str, Any], tools: tuple[str, ...] = (), result: str = "", **more: Any) -> str:
    """Return the name of an agent that works through these steps."""
    name = f"handed-{next(_numbers)}"
    end = {"summary": "It is done.", **({"result": {"said": result}} if result else {})}
    seed.register(
        declared.Agent(
            name=name,
            title="Another agent",
            provider="playbook",
            definition={"steps": [*steps, {"id": "end", "title": "End", "finish": end}]},
            tools=(
                *("world." + tool for tool in ("look", "allowed", "unprotected", "lookup", "idempotent")),
                *tools,
            ),
            input_schema={"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]},
            **more,
        )
    )
    return name


def hands(name: str, subject: str = "letter 7", what: str = "it", **more: Any) -> dict[str, Any]:
    """Return the step that hands work to an agent."""
    return {
        "id": more.pop("id", "over"),
        "title": "Hand it over",
        "tool": handing.PREFIX + name,
        "with": {"subject": subject, "input": {"what": what}},
        **more,
    }


@pytest.fixture
def begin(operator: models.User) -> Start:
    """Start a run of an agent with these steps, which may hand work over."""

    def make(*steps: dict[str, Any], **more: Any) -> models.Run:
        over = tuple(step["tool"] for step in steps if step.get("tool", "").startswith(handing.PREFIX))
        name = agent(*steps, tools=tuple(dict.fromkeys(over)), **more)
        return starts.start_run(
            name,
            input={"what": "it"},
            title="A parent",
            by=Actor(user=operator),
            token=f"parent-{next(_numbers)}",
        )

    return make


def child_of(run: models.Run) -> models.Run:
    """Return the newest attempt of the one piece of work that the run handed over."""
    return models.Run.objects.filter(parent=run).latest("pk")


@pytest.fixture
def asked(person: Callable[..., models.User]) -> None:
    """Policy asks about every hand-off."""
    rule = {"name": "handed over", "match": {"tool": "hand_off.*"}, "verdict": "review"}
    by = Actor(user=person("ada", "admin"))
    switches.set_policy({"version": 1, "rules": [rule]}, reason="for the test", by=by)


def back(run: models.Run) -> models.Run:
    """Return the run after the clock has passed on what its children came to, and its next turn."""
    clock.tick()
    return go(run)


def only_action(run: models.Run) -> models.Action:
    """Return the run's one action."""
    return models.Action.objects.select_related("occurrence").get(run=run)


def test_1_10_the_intent_makes_the_child_and_its_end_is_the_receipt(
    begin: Start, reviewer: models.User, asked: None
) -> None:
    """A hand-off is asked about like any effect; then the parent waits as data until the child has ended."""
    run = go(begin(hands(agent(step("look"), result="paid")), step("look", "after", id="after")))
    review = only_review(run)
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


def test_4_11_a_stop_reaches_those_below_before_it_is_acknowledged(
    begin: Start, operator: models.User, reviewer: models.User
) -> None:
    """The parent ends after its children; nothing of theirs starts once the stop has returned."""
    inner = agent(step("unprotected"))
    middle = agent(hands(inner, "inner"), tools=(handing.PREFIX + inner,))
    run = go(begin(hands(middle)))
    child = go(child_of(run))
    grandchild = go(child_of(child))
    answer(only_review(grandchild), reviewer, "approve")
    holds.stop(run.pk, reason="wrong customer", by=Actor(user=operator))
    assert go(run).status == "waiting"  # unsettled: its child goes on
    for one in (grandchild, child, run):
        clock.tick()
        assert go(one).status == "cancelled", one
    assert World.effects() == []
    assert grandchild.stop_reason == (
        f"Run {child.pk}, which handed this over, was stopped:"
        f" Run {run.pk}, which handed this over, was stopped: wrong customer"
    )
    verifier.verify()


def test_4_11_a_stop_that_was_cut_off_reaches_them_by_the_clock(begin: Start, operator: models.User) -> None:
    """The process died between the parent's commit and its children's."""
    run = go(begin(hands(agent(step("look")))))
    child = child_of(run)
    with mock.patch.object(holds, "_stop_below"):
        holds.stop(run.pk, reason="wrong", by=Actor(user=operator))
    clock.tick()
    child.refresh_from_db()
    assert child.stop_at is not None
    assert go(child).status == "cancelled"
    assert back(run).status == "cancelled"


def test_8_3_what_a_child_uses_is_used_up_for_its_parents(begin: Start, operator: models.User) -> None:
    """A child has limits of its own and draws on those above; a raise there lets it go on."""
    looks = [step("look", f"n{number}", id=f"s{number}") for number in range(4)]
    run = go(begin(hands(agent(*looks, budget={"steps": 50})), budget={"steps": 5}))
    child = go(child_of(run))
    assert (child.status, child.reason) == ("waiting", "review")
    review = only_review(child)
    assert review.account is not None
    assert review.account.root_id == run.pk
    answer(review, operator, "raise", amount=10)
    assert go(child).status == "succeeded"
    assert back(run).status == "succeeded"
    assert accounts.differences() == []
    spent = {row.root_id: (row.spent, row.advanced) for row in models.Account.objects.filter(measure="steps")}
    assert spent == {run.pk: (run.steps + child.steps, 0), child.pk: (child.steps, 0)}
    verifier.verify()


def test_work_is_not_handed_round(begin: Start, operator: models.User) -> None:
    """An agent that is at work on it above is refused in words, and so is what doesn't fit the other's input."""
    name = agent(step("look"))
    with_itself = agent(hands(name, "again"), tools=(handing.PREFIX + name,))
    run = go(begin(hands(with_itself)))
    child = go(child_of(run))
    assert child.status == "waiting"
    back_again = agent(hands(with_itself, "back"), tools=(handing.PREFIX + with_itself,))
    seed.register(
        declared.Agent(
            name=with_itself,
            title="Another agent",
            provider="playbook",
            definition={
                "steps": [hands(back_again), {"id": "end", "title": "End", "finish": {"summary": "x"}}]
            },
            tools=(handing.PREFIX + back_again,),
            input_schema={"type": "object", "properties": {"what": {"type": "string"}}},
        )
    )
    run = starts.start_run(
        with_itself, input={"what": "it"}, title="Round", by=Actor(user=operator), token="round-and-round"
    )
    go(run)
    child = go(child_of(run))
    assert child.status == "failed"
    assert "may not be handed back to it" in child.error
    run = go(begin(hands(name, what=[1])))  # type: ignore[arg-type]
    assert run.status == "failed"
    assert "what" in run.error


def test_a_dry_run_says_what_it_would_hand_over(begin: Start, operator: models.User) -> None:
    """No child is made: nothing live comes of a dry run."""
    over = hands(agent(step("allowed")))
    name = agent(over, tools=(over["tool"],))
    run = starts.start_run(
        name, input={"what": "it"}, title="Dry", by=Actor(user=operator), token="a-dry-parent", mode="dry_run"
    )
    assert go(run).status == "succeeded"
    assert models.Run.objects.count() == 1
    assert only_action(run).status == "simulated"
