"""Accounts: advances at claim and refill, settled at park and end; limits that hold for runs together."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import F

from runs import models
from runs.engine import accounts, verifier
from runs.transitions import steps, usage
from runs.transitions.steps import advances
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


def test_8_1_an_unknown_price_is_limited_by_tokens_or_not_asked_for(start: Start) -> None:
    """Nobody knows the price: a limit of money alone would hold nothing back, so the provider isn't asked."""
    with paid(10, 10, None):
        run = go(start(*looks(1), budget={"cost_micro": 100}))
        assert (run.status, run.tokens_in) == ("failed", 0)
        assert run.error.endswith(
            "is unknown, so a limit of money can't hold it back. Limit its tokens too, then let it try again."
        )
        run = go(start(*looks(2), budget={"cost_micro": 100, "tokens": 40}))
    assert (run.status, run.cost_known, asked(run).content["measure"]) == ("waiting", False, "tokens")
    assert balance(run, "tokens") == (40, 0)


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


def test_8_1_what_is_learnt_while_a_limit_is_asked_about_is_counted(start: Start) -> None:
    """A lost call's usage arrives while the run waits for more turns: it is settled, though nothing was advanced."""
    run = go(start(*looks(3), budget={"steps": 2, "tokens": 1000, "seconds": 600}))
    usage.late(run.pk, fence=run.fence, usage={"tokens_in": 3, "tokens_out": 4, "cost_micro": 0})
    claim = steps.claim(run.pk)
    assert claim is not None
    models.Run.objects.filter(pk=run.pk).update(claimed_at=F("claimed_at") - datetime.timedelta(seconds=65))
    steps.later(claim, reason="slice")
    run = go(run)
    assert (run.status, run.reason, asked(run).content["measure"]) == ("waiting", "review", "steps")
    assert balance(run, "tokens") == (7, 0)
    assert balance(run, "seconds")[0] >= 65
    verifier.verify()
