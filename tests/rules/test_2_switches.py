"""What narrows, for everybody, what may run: in force before it is acknowledged."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
from django.db import connection

from runs import models
from runs.engine import advance, frontier, undoing, verdicts, verifier
from runs.transitions import refusals, steps, switches
from runs.transitions.actor import Actor
from tests import waiting
from tests.engine.conftest import go, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]
ROUNDS = 60


def intents() -> int:
    return models.Entry.objects.filter(kind="intent").count()


def test_2_2_no_intent_after_pause_all_is_acknowledged(start: Start, person: Person) -> None:
    """A worker is in full swing when everything is paused: once the pause is acknowledged nothing more starts."""
    admin = Actor(user=person("ada", "admin"))
    late = []
    for number in range(ROUNDS):
        run = start(*(step("allowed", f"{number}-{index}", id=f"s{index}") for index in range(8)))
        known = intents()
        worker = threading.Thread(target=_work, args=[run.pk])
        worker.start()
        waiting.until(lambda known=known: intents() > known)  # type: ignore[misc]
        switches.pause_all(True, by=admin, reason="Test.")
        acknowledged = intents()
        worker.join(20)
        assert not worker.is_alive()
        if intents() != acknowledged:
            late.append(number)
        switches.pause_all(False, by=admin)
        models.Run.objects.filter(pk=run.pk, status="queued").update(wake_at="2100-01-01T00:00Z")
    assert late == []
    assert intents() < 8 * ROUNDS  # the pause did cut something off
    assert len(World.effects()) == intents()


def _work(run_id: int) -> None:
    try:
        advance.advance(run_id)
    finally:
        connection.close()


@pytest.mark.parametrize("what", ["policy", "all", "agent", "tool"])
def test_2_2_an_intent_names_the_epoch_and_the_inbox_that_it_was_evaluated_under(
    start: Start, person: Person, what: str
) -> None:
    """Whatever narrows the gate after the evaluation makes the intent be refused, and be evaluated again."""
    admin = Actor(user=person("ada", "admin"))
    run = start(step("allowed", "draft"))
    claim = steps.claim(run.pk)
    assert claim is not None
    front = _until_approved(claim)
    call = next(iter(front.actions))
    action, policy = front.actions[call], verdicts.in_force()
    wish = steps.Wish(
        call=call, digest=action.digest, contract=action.contract, epoch=policy.epoch, verdict="allow", timeout=1.0,
        settle=1.0, key_window=60.0,
    )  # fmt: skip
    narrow: dict[str, Callable[[], object]] = {
        "policy": lambda: switches.set_policy({"version": 1, "rules": []}, reason="incident", by=admin),
        "all": lambda: switches.pause_all(True, by=admin, reason="Test."),
        "agent": lambda: switches.pause_agent(front.agent.name, True, by=admin, reason="Test."),
        "tool": lambda: switches.pause_tool("world.allowed", True, by=admin, reason="Test."),
    }
    narrow[what]()
    seen = front.situation.inbox
    with pytest.raises(refusals.Changed):
        steps.intent(claim, wish, seen=seen)
    steps.fold_in(claim, undoing.check)
    with pytest.raises(refusals.Changed):  # the epoch alone refuses it too
        steps.intent(claim, wish, seen=frontier.load(claim).situation.inbox)
    assert World.effects() == []


def _until_approved(claim: steps.Claim) -> frontier.Frontier:
    """Move the claimed run to where its one effect is released and not started."""
    from runs import planner
    from runs.engine import carrying, heartbeat, proposing

    beat = heartbeat.Heartbeat(claim)
    while not (front := frontier.load(claim)).actions:
        assert isinstance(planner.next_move(front.situation), planner.CallModel)
        following = proposing.call_model(front, beat)
        if following is not None:
            carrying.settle(following)
    assert isinstance(planner.next_move(front.situation), planner.Act)
    return front


def test_2_2_only_runs_at_work_are_interrupted_and_only_by_what_narrows(start: Start, person: Person) -> None:
    """The inbox number is raised on running runs alone; lifting a switch raises none."""
    admin = Actor(user=person("ada", "admin"))
    at_work, at_rest = start(step("allowed", "a")), start(step("allowed", "b"))
    assert steps.claim(at_work.pk) is not None
    switches.pause_tool("world.allowed", True, by=admin, reason="Test.")
    switches.pause_tool("world.allowed", False, by=admin)
    at_work.refresh_from_db()
    at_rest.refresh_from_db()
    assert (at_work.inbox, at_rest.inbox) == (1, 0)
    assert models.Installation.objects.get(pk=1).gate_epoch == 3
    verifier.verify()


def test_2_2_a_pause_that_stood_already_is_acknowledged_only_after_the_same_interrupts(
    start: Start, person: Person
) -> None:
    """Whoever paused first may have died before telling the workers; doing it again tells them."""
    admin = Actor(user=person("ada", "admin"))
    run = start(step("allowed", "a"))
    assert steps.claim(run.pk) is not None
    models.Installation.objects.update(
        paused_all=True, switches={"all": {"by": "ada", "reason": "", "at": ""}}
    )
    switches.pause_all(True, by=admin, reason="Test.")
    run.refresh_from_db()
    assert run.inbox == 1
    go(run)


def test_2_2_a_switch_that_was_thrown_past_the_product_is_found(start: Start, person: Person) -> None:
    """Somebody with the database in their hands lifts, adds or rewrites a switch."""
    admin = Actor(user=person("ada", "admin"))
    switches.pause_all(True, by=admin, reason="Incident.")
    verifier.verify()
    true = models.Installation.objects.get(pk=1).switches
    for lie in ({}, {**true, "agent:x": true["all"]}, {"all": {**true["all"], "reason": "Nothing."}}):
        models.Installation.objects.update(switches=lie)
        with pytest.raises(verifier.Broken, match="installation"):
            verifier.verify()
    models.Installation.objects.update(switches=true, paused_all=False)
    with pytest.raises(verifier.Broken, match="installation"):
        verifier.verify()
