"""Accounts: advances at claim and refill, settled at park and end; limits that hold for runs together."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection, transaction

from runs import lifecycle, models
from runs.engine import accounts, advance, verifier
from runs.transitions import clocks, steps
from runs.transitions.steps import advances
from tests import waiting
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import Killed, expire_lease, kill
from tests.engine.world import Look, World
from tests.rules.spending import account, asked, balance, looks, paid, raise_by

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_8_1_a_claim_takes_an_advance_and_park_returns_the_rest(start: Start, reviewer: models.User) -> None:
    """A claimed run holds a chunk of each limit; a waiting one holds nothing and has settled what it used."""
    run = start(*looks(2), step("lookup", "mail"), budget={"steps": 40, "calls": 20})
    claim = steps.claim(run.pk)
    assert claim is not None
    run.refresh_from_db()
    assert {name: held["amount"] for name, held in run.advance.items()} == {"steps": 4, "calls": 2}
    assert balance(run, "steps") == (0, 4)
    expire_lease(run)
    run = go(run)
    assert (run.status, run.advance) == ("waiting", None)
    assert balance(run, "steps") == (run.steps, 0)
    assert balance(run, "calls") == (2, 0)
    answer(only_review(run), reviewer, "approve")
    run = go(run)
    assert run.status == "succeeded"
    assert balance(run, "steps") == (run.steps, 0)
    assert balance(run, "calls") == (3, 0)
    verifier.verify()


def test_8_1_no_account_is_touched_between_claim_and_park(start: Start) -> None:
    """Replies, reads and effects cost the accounts no statement: what was used is counted by the run's counters."""
    run = start(*looks(3), budget={"steps": 1000, "calls": 1000})
    touched: list[str] = []

    def note(execute: Callable[..., object], sql: str, *more: object) -> object:
        if "runs_account" in sql:
            touched.append(sql.split(maxsplit=1)[0])
        return execute(sql, *more)

    with connection.execute_wrapper(note):
        run = go(run)
    assert run.status == "succeeded"
    # Claim: look, open, look again, update. End: look, update.
    assert touched == ["SELECT", "INSERT", "SELECT", "UPDATE", "SELECT", "UPDATE"]


def test_8_1_without_limits_there_are_no_accounts(start: Start) -> None:
    """A run without limits touches no account at all."""
    run = start(*looks(1), budget={})
    touched: list[str] = []

    def note(execute: Callable[..., object], sql: str, *more: object) -> object:
        touched.extend([sql] if "runs_account" in sql else [])
        return execute(sql, *more)

    with connection.execute_wrapper(note):
        assert go(run).status == "succeeded"
    assert touched == []
    assert not models.Account.objects.exists()


def test_8_1_a_limit_that_is_reached_asks_and_a_raise_goes_on(start: Start, operator: models.User) -> None:
    """At 100 % the run waits behind one budget question; after the raise it goes on from where it was."""
    run = go(start(*looks(4), budget={"steps": 3, "calls": 100}))
    assert (run.status, run.steps) == ("waiting", 3)
    review = asked(run)
    assert review.title == "The limit of 3 turns of this run is reached."
    assert (review.expires_at, run.advance) == (None, None)
    assert go(run).status == "waiting"
    seen = len(Look.runs)
    raise_by(run, operator, 2)
    run = go(run)
    assert (run.status, run.steps) == ("waiting", 5)
    assert len(Look.runs) == seen + 2
    raise_by(run, operator, 100)
    run = go(run)
    assert run.status == "succeeded", run.error
    assert len(Look.runs) == 4
    assert balance(run, "steps") == (run.steps, 0)
    raised = models.AuditEvent.objects.filter(act="budget.raised").order_by("seq")
    assert [event.content["after"] for event in raised] == [5, 105]
    assert {event.actor for event in raised} == {operator}
    verifier.verify()


def test_8_1_tool_calls_are_limited_before_they_run(start: Start, operator: models.User) -> None:
    """An effect that the limit doesn't cover isn't started; its approval stays."""
    run = go(start(step("allowed", "one", id="a"), step("allowed", "two", id="b"), budget={"calls": 1}))
    assert (run.status, run.calls) == ("waiting", 1)
    assert len(World.effects()) == 1
    assert models.Action.objects.get(run=run, step="b").status == "approved"
    raise_by(run, operator, 1)
    run = go(run)
    assert run.status == "succeeded", run.error
    assert len(World.effects()) == 2
    verifier.verify()


def test_8_1_an_advance_can_not_overdraw_but_a_reply_is_paid_for(start: Start, operator: models.User) -> None:
    """What one reply used beyond its advance is settled exactly, and noted as excess; the next one has to ask."""
    run = start(*looks(2), budget={"tokens": 70})
    with paid(60, 30, 5, most=0):
        run = go(run)
        found = account(run, "tokens")
        assert run.status == "waiting"
        assert (found.spent, found.advanced, found.over) == (90, 0, 30)
        assert accounts.differences() == []
        with pytest.raises(IntegrityError, match="runs_account_not_overdrawn"), transaction.atomic():
            models.Account.objects.filter(pk=found.pk).update(advanced=11)
        raise_by(run, operator, 1000)
        run = go(run)
    assert run.status == "succeeded", run.error
    assert balance(run, "tokens") == (run.tokens_in + run.tokens_out, 0)


def test_8_1_a_call_that_may_cost_too_much_is_not_made(start: Start, operator: models.User) -> None:
    """The most that a reply can cost is reserved before: with an honest estimate nothing is ever overdrawn."""
    run = start(*looks(1), budget={"cost_micro": 100})
    with paid(1, 1, 40):
        run = go(run)
        assert (run.status, run.cost_micro) == ("waiting", 80)
        assert account(run, "cost_micro").over == 0
        raise_by(run, operator, 20)
        assert go(run).status == "succeeded"
    assert balance(run, "cost_micro") == (120, 0)


def test_8_1_parallel_runs_can_not_overspend_together(start: Start) -> None:
    """Eight runs share what all runs may use in a day; together they never use more, whoever claims first."""
    budget = {"steps": 1000}
    runs = [start(*looks(3), budget=budget) for _ in range(8)]
    barrier = threading.Barrier(4)

    def work(mine: list[models.Run]) -> None:
        try:
            barrier.wait(10)
            for run in mine:
                advance.advance(run.pk)
        finally:
            connection.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.conf.settings.CKPTSITE_DAY_BUDGET", {"steps": 11})
        threads = [threading.Thread(target=work, args=(runs[number::4],)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        # Who had to let others go first is due again in a moment.
        waiting.until(lambda: all(_rests(run) for run in runs), within=30)
    used = sum(run.steps for run in models.Run.objects.all())
    day = models.Account.objects.get(root=None, measure="steps")
    assert (day.limit, day.spent, day.advanced, day.over, used) == (11, 11, 0, 0, 11)
    assert accounts.differences() == []
    verifier.verify()


def _rests(run: models.Run) -> bool:
    advance.advance(run.pk)
    run.refresh_from_db()
    return run.status in {lifecycle.Run.WAITING, lifecycle.Run.SUCCEEDED}


def test_8_1_what_others_have_reserved_is_waited_for_not_asked_about(start: Start) -> None:
    """A run that is short only because another one holds the rest asks nobody: it is due again in a moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.conf.settings.CKPTSITE_DAY_BUDGET", {"calls": 1})
        holder = start(*looks(1), budget={})
        claim = steps.claim(holder.pk)
        assert claim is not None
        run = go(start(*looks(1), budget={}))
        assert (run.status, run.reason) == ("queued", "budget")
        assert not models.Review.objects.exists()
        steps.later(claim, reason="slice")
        models.Run.objects.filter(pk=run.pk).update(wake_at=run.created_at)
        assert go(run).status == "succeeded"
        assert go(holder).status == "waiting"
        assert asked(holder).content["scope"] == "installation"
    verifier.verify()


def test_8_1_an_agent_has_an_account_a_day(start: Start, operator: models.User) -> None:
    """The agent's account of a day is shared by its runs, and a new day has a new one."""
    run = go(start(*looks(3), budget={}, per_day={"steps": 2}))
    assert asked(run).title == "The limit of 2 turns that this agent may use in a day is reached."
    yesterday = models.Account.objects.get(agent=run.agent_version.agent)
    assert yesterday.day is not None
    models.Account.objects.update(day=yesterday.day - datetime.timedelta(days=1))
    raise_by(run, operator, 1)
    run = go(run)
    assert (run.status, run.steps) == ("waiting", 4)
    assert models.Account.objects.filter(agent=run.agent_version.agent).count() == 2
    assert accounts.differences() == []


def test_8_1_what_waits_for_a_days_limit_goes_on_the_next_day(start: Start) -> None:
    """Nobody answers: the clock finds that the day is over, and the new day's account is enough. A lineage's is not."""
    run = go(start(*looks(3), budget={}, per_day={"steps": 2}))
    other = go(start(*looks(3), budget={"steps": 2}))
    question = asked(run)
    assert clocks.wake_new_day() == 0
    with clockwork.ahead(hours=25):
        assert clocks.wake_new_day() == 1
        run, other = go(run), go(other)
        assert (run.status, run.steps, other.status) == ("waiting", 4, "waiting")
        assert asked(run).pk != question.pk  # two more, and then this day is used up too
        assert clocks.wake_new_day() == 0
    question.refresh_from_db()
    assert question.status == "superseded"
    assert accounts.differences() == []


POINTS = [
    f"{commit}.{side}"
    for commit in ("claim", "refill", "reply", "read", "finish")
    for side in ("before", "after_commit")
]


@pytest.mark.parametrize("point", POINTS)
def test_8_1_a_worker_killed_anywhere_between_claim_and_park_loses_nothing(start: Start, point: str) -> None:
    """Account = settled + outstanding whichever commit the worker died at, and again when another one is done."""
    run = start(*looks(3), budget={"steps": 10, "calls": 10})
    passed = iter([point, point])

    def reach(name: str) -> None:
        """Die there the second time, or the first where there is no second."""
        if name == point and (
            next(passed, None) is None or not point.startswith(("refill", "reply", "read"))
        ):
            kill()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("runs.points.reach", reach)
        with pytest.raises(Killed):
            go(run)
    run.refresh_from_db()
    assert accounts.differences() == []
    if run.status == "running":
        expire_lease(run)
    run = go(run)
    assert run.status == "succeeded"
    assert balance(run, "steps") == (5, 0)
    assert balance(run, "calls") == (3, 0)


def test_8_2_the_advance_of_a_dead_claim_passes_to_the_next(start: Start) -> None:
    """A take-over goes on with what the dead claim had taken, and takes nothing again."""
    run = start(*looks(1), budget={"steps": 40})
    assert steps.claim(run.pk) is not None
    run.refresh_from_db()
    before = run.advance
    expire_lease(run)
    assert steps.claim(run.pk) is not None
    run.refresh_from_db()
    assert run.advance == before
    assert balance(run, "steps") == (0, 4)
    assert advances.left(run, run.claimed_at or run.created_at)["steps"] == 4
