"""Holds, switches and stops: what people do to a run, and what it may still do."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runs import lifecycle, models
from runs.engine import verifier, worker
from runs.selectors import deciding, inbox
from runs.transitions import clocks, holds, refusals, steps, switches
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import Killed, expire_lease, tomorrow
from tests.engine.world import Look, World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]


def test_4_8_a_hold_says_who_why_whose_right_and_when_to_remind(start: Start, person: Person) -> None:
    """An administrator's hold needs an administrator to lift it."""
    run = go(start(step("lookup", "mail")))
    ada, olga = Actor(user=person("ada", "admin")), Actor(user=models.User.objects.get(username="olga"))
    holds.pause(run.pk, reason="Audit.", by=ada)
    run.refresh_from_db()
    assert (run.status, run.hold_by, run.hold_reason, run.hold_right) == (
        "paused",
        ada.user,
        "Audit.",
        "admin",
    )
    assert run.remind_at is not None
    assert run.remind_at > timezone.now()
    with pytest.raises(refusals.NotYours, match="administrator"):
        holds.resume(run.pk, by=olga)
    with pytest.raises(refusals.Stale, match="already"):
        holds.pause(run.pk, reason="Me too.", by=olga)
    holds.resume(run.pk, by=ada)
    run.refresh_from_db()
    assert (run.status, run.hold_by_id, run.hold_right) == ("queued", None, "")
    verifier.verify()


def test_4_8_while_paused_people_decide_and_deadlines_run_on_but_nothing_starts(
    start: Start, reviewer: models.User, operator: models.User
) -> None:
    """Both answers are kept, the pause stays, and they count once it is lifted."""
    rows = {"id": "rows", "title": "Rows", "each": '["a", "b"]', "as": "row", "tool": "world.lookup",
            "required": False}  # fmt: skip
    run = go(start({**rows, "with": {"name": "${row}"}}))
    first, second = models.Review.objects.filter(run=run).order_by("id")
    holds.pause(run.pk, reason="", by=Actor(user=operator))
    answer(first, reviewer, "approve")
    models.Review.objects.filter(pk=second.pk).update(expires_at=timezone.now())
    assert clocks.expire_reviews() == 1
    assert go(run).status == "paused"
    assert World.effects() == []
    holds.resume(run.pk, by=Actor(user=operator))
    assert go(run).status == "succeeded"
    assert [line["name"] for line in World.effects()] == ["a"]
    verifier.verify()


def test_4_8_a_switch_changes_no_runs_status(start: Start, reviewer: models.User, person: Person) -> None:
    """An agent is paused: its queued runs stay queued and are not taken up, its waiting ones wait, others go on."""
    admin = Actor(user=person("ada", "admin"))
    waits, queued, other = (
        go(start(step("lookup", "a"))),
        start(step("allowed", "b")),
        start(step("allowed", "c")),
    )
    for run in (waits, queued):
        switches.pause_agent(run.agent_version.agent.name, True, by=admin, reason="Wrong letters.")
    assert steps.claim(queued.pk) is None
    answer(only_review(waits), reviewer, "approve")  # deciding goes on
    assert steps.claim(waits.pk) is None
    assert clocks.next_due() == other.pk
    assert clocks.due_runs(limit=10) == [other.pk]
    assert worker.drain(until_idle=True) == 1  # it neither spins nor sleeps on what is paused
    assert sorted(models.Run.objects.values_list("status", flat=True)) == ["queued", "queued", "succeeded"]
    for run in (waits, queued):
        switches.pause_agent(run.agent_version.agent.name, False, by=admin)
    worker.drain(until_idle=True)
    assert set(models.Run.objects.values_list("status", flat=True)) == {"succeeded"}
    verifier.verify()


def test_4_8_a_paused_tool_holds_up_its_own_calls_only(start: Start, person: Person) -> None:
    """Reads and effects of other tools go on; the run sleeps, queued with a reason, and is woken by the lifting."""
    admin = Actor(user=person("ada", "admin"))
    switches.pause_tool("world.allowed", True, by=admin, reason="Broken.")
    run = go(start(step("look", "first"), step("allowed", "draft"), step("look", "last", id="last")))
    assert (run.status, run.reason, len(Look.runs), World.effects()) == ("queued", "switch", 1, [])
    assert run.wake_at is not None
    assert run.wake_at > timezone.now()
    assert run.attempts == 0  # a pause is no trouble
    switches.pause_tool("world.allowed", False, by=admin)
    assert go(run).status == "succeeded"
    assert len(World.effects("draft")) == 1
    verifier.verify()


def test_4_8_a_paused_tool_is_not_sent_again_either(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """A worker died in an idempotent effect: while its tool is paused it may be asked about, not sent again."""
    run = go(start(step("idempotent", "mail")))
    answer(only_review(run), reviewer, "approve")
    World.before = _die
    with pytest.raises(Killed):
        go(run)
    World.before = None
    expire_lease(run)
    switches.pause_tool("world.idempotent", True, by=Actor(user=person("ada", "admin")), reason="Test.")
    run = go(run)
    assert (only_review(run).kind, World.effects()) == ("in_doubt", [])


def test_4_8_a_run_that_was_cut_off_is_taken_over_under_a_switch_and_only_looks(
    start: Start, reviewer: models.User, person: Person
) -> None:
    """Everything is paused, and a worker has died in an effect: what happened is found out, nothing is started."""
    run = go(start(step("lookup", "mail"), step("allowed", "next")))
    answer(only_review(run), reviewer, "approve")
    World.after = _die
    with pytest.raises(Killed):
        go(run)
    World.after = None
    expire_lease(run)
    switches.pause_all(True, by=Actor(user=person("ada", "admin")), reason="Test.")
    run = go(run)
    assert (run.status, run.reason) == ("queued", "switch")
    assert models.Action.objects.get(run=run).status == "succeeded"
    assert [line["name"] for line in World.effects()] == ["mail"]
    verifier.verify()


def test_4_8_only_administrators_throw_switches(person: Person) -> None:
    """And only for what there is."""
    with pytest.raises(refusals.NotYours):
        switches.pause_all(True, by=Actor(user=person("otto", "operator")), reason="Test.")
    with pytest.raises(refusals.Invalid, match="no tool named"):
        switches.pause_tool("world.nothing", True, by=Actor(user=person("ada", "admin")), reason="Test.")
    with pytest.raises(refusals.Invalid, match="no agent named"):
        switches.pause_agent(
            "nobody", True, by=Actor(user=models.User.objects.get(username="ada")), reason="Test."
        )


@pytest.mark.parametrize("verdict", ["happened", "absent_leave", "unknown"])
def test_4_6_a_stopped_run_ends_only_when_every_outcome_is_known(
    start: Start, reviewer: models.User, operator: models.User, verdict: str
) -> None:
    """Stop, with an effect in doubt: the run waits and says so; each answer is still possible, then it ends."""
    run = go(start(step("unprotected", "parcel")))
    answer(only_review(run), reviewer, "approve")
    World.after = _die
    with pytest.raises(Killed):
        go(run)
    World.after = None
    expire_lease(run)
    run = go(run)
    holds.stop(run.pk, reason="Enough.", by=Actor(user=operator))
    run = go(run)
    assert (run.status, run.reason) == ("waiting", "stop_unsettled")
    claim_all_the_same(run)
    more = {"receipt": "Seen."} if verdict == "happened" else {}
    answer(only_review(run), reviewer, verdict, rendered_at=tomorrow(), **more)
    assert go(run).status == "cancelled"
    assert not models.Action.objects.filter(run=run, status__in=lifecycle.ACTION_OPEN).exists()
    assert len(World.effects()) == 1
    verifier.verify()


def claim_all_the_same(run: models.Run) -> None:
    """Not even a worker that wants to end it can."""
    models.Run.objects.filter(pk=run.pk).update(status="queued", wake_at=timezone.now(), reason="x")
    claim = steps.claim(run.pk)
    assert claim is not None
    run.refresh_from_db()
    with pytest.raises(refusals.Changed, match="outcome"):
        steps.cancel(claim, open_calls=(), seen=run.inbox)
    with pytest.raises(refusals.Changed, match="outcome"):
        steps.fail(claim, cause="x", detail="", open_calls=(), seen=run.inbox)
    steps.wait(claim, reason="stop_unsettled", seen=run.inbox)


def _die() -> None:
    raise Killed


def test_4_8_who_paused_a_run_is_reminded_of_it(start: Start, person: Person) -> None:
    """On their own inbox, once its time has come; nobody else is, and no longer when it goes on."""
    run = go(start(step("lookup", "mail")))
    ada, olga = person("ada", "admin"), models.User.objects.get(username="olga")
    holds.pause(run.pk, reason="Until Monday.", by=Actor(user=ada))

    def reminded(user: models.User) -> list[str]:
        page = inbox.page(deciding.Viewer(user=user, roles=frozenset(user.roles())), {})
        return [reminder.reason for reminder in page.reminders]

    assert reminded(ada) == []
    models.Run.objects.filter(pk=run.pk).update(remind_at=timezone.now())
    assert (reminded(ada), reminded(olga)) == (["Until Monday."], [])
    client = Client()
    client.force_login(ada)
    assert "You paused" in client.get(reverse("inbox")).content.decode()
    holds.resume(run.pk, by=Actor(user=ada))
    assert reminded(ada) == []
