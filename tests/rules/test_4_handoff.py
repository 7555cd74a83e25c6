"""Rules 4.11 and 8.3: what goes down to those that work was handed to, and who may be handed work at all."""

from __future__ import annotations

import threading
from collections.abc import Callable
from unittest import mock

import pytest
from django.contrib.auth.models import Group
from django.db import connection, transaction
from django.db.models.functions import Now

from runs import models, seed
from runs.engine import accounts, clock, verifier
from runs.providers import declared
from runs.tools import handing
from runs.tools.contract import DidNotHappen
from runs.transitions import children, holds, inbox, starts
from runs.transitions.actor import Actor
from runs.transitions.refusals import NotYours
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Look, World
from tests.rules.handing import agent, back, child_of, hands, only_action

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


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


def test_work_goes_to_a_group_of_people_where_policy_leaves_it_open(
    begin: Start, operator: models.User, person: Callable[..., models.User]
) -> None:
    """An agent names who should answer; a group without anybody who may is refused in words."""
    Group.objects.create(name="finance")
    fina = person("fina", "reviewer", "finance")
    ask = {"id": "q", "title": "Ask", "ask": {"question": "Which account?", "to": "finance"}}
    run = go(begin(ask))
    review = only_review(run)
    assert review.groups == ["finance"]
    with pytest.raises(NotYours):
        answer(review, person("rudi", "reviewer"), "answer", value='"4400"')
    answer(review, fina, "answer", value='"4400"')
    assert go(run).status == "succeeded"
    lost = go(begin({**ask, "ask": {"question": "Which?", "to": "legal"}}))
    assert lost.status == "failed"
    assert "nobody in a group named 'legal' may answer; groups that may: finance, reviewer" in lost.error


def test_4_11_a_failed_child_holds_up_no_stop(begin: Start, operator: models.User) -> None:
    """Whether it is tried again is asked no more once the run that handed over is stopped."""
    run = go(begin(hands(agent(step("look", "missing")))))
    child = child_of(run)
    Look.failures = [DidNotHappen("it is not there")] * 3
    while go(child).status == "queued":
        models.Run.objects.filter(pk=child.pk).update(wake_at=Now())
    review = only_review(child)
    assert (child.status, review.status) == ("failed", "open")
    holds.stop(run.pk, reason="wrong customer", by=Actor(user=operator))
    review.refresh_from_db()
    assert review.status == "superseded"
    assert back(run).status == "cancelled"
    verifier.verify()


def test_4_11_whoever_passes_on_an_end_never_waits_for_a_child(begin: Start) -> None:
    """A re-drive holds the child and then needs its parent's row: waiting the other way round is a deadlock."""
    run = go(begin(hands(agent(step("look")))))
    child = go(child_of(run))
    taken, done = threading.Event(), threading.Event()

    def hold() -> None:
        try:
            with transaction.atomic():
                inbox.lock(child.pk)
                taken.set()
                done.wait(10)
        finally:
            connection.close()

    holder = threading.Thread(target=hold)
    holder.start()
    try:
        assert taken.wait(10)
        assert children.give_back() == 0
    finally:
        done.set()
        holder.join()
    assert children.give_back() == 1
    assert go(run).status == "succeeded"
