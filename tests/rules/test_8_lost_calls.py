"""A worker dies in a model call: the vendor charges, the reply is lost, and the books say so."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from unittest import mock

import pytest

from runs import models, points
from runs.engine import accounts, advance, outside, verifier
from runs.providers import contract
from runs.providers.playbook import Playbook
from runs.transitions import steps, usage
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import Killed, expire_lease, kill
from tests.rules.spending import balance, looks, paid

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def die_at(run: models.Run, point: str = "model.after_call") -> None:
    """Advance until this point and die there: by default with the provider's reply in hand."""
    with (
        mock.patch.object(points, "reach", lambda name: kill() if name == point else None),
        pytest.raises(Killed),
    ):
        go(run)
    expire_lease(run)


def notes(run: models.Run, code: str) -> list[models.Entry]:
    """The notes of one kind in the run's log."""
    found = models.Entry.objects.filter(run=run, kind="note").order_by("position")
    return [line for line in found if line.content.get("code") == code]


def test_8_2_a_lost_call_is_booked_as_estimated_and_made_again(start: Start) -> None:
    """A take-over while the next move is a model call books the most that the lost call can have cost."""
    run = start(*looks(1), budget={"tokens": 10_000})
    with paid(100, 20, 7, most=500):
        die_at(run)
        run = go(run)
    assert run.status == "succeeded", run.error
    (booked,) = notes(run, "lost_call")
    assert booked.content["usage"] == {
        "tokens_in": 100, "tokens_out": 500, "cost_micro": 7, "estimated": True,
    }  # fmt: skip
    assert run.steps == 3  # no reply was stored for the lost call, so it is no step
    assert (run.tokens_in, run.tokens_out, run.cost_micro) == (400, 560, 28)
    assert balance(run, "tokens") == (960, 0)
    verifier.verify()


def test_8_2_nothing_is_booked_where_nothing_can_have_been_called(
    start: Start, reviewer: models.User
) -> None:
    """A worker that died in an effect was calling no model."""
    run = start(step("lookup", "mail"), budget={})
    with paid(100, 20, 7):
        run = go(run)
        answer(only_review(run), reviewer, "approve")
        die_at(run, "effect.after_send")
        run = go(run)
    assert run.status == "succeeded", run.error
    assert notes(run, "lost_call") == []


def test_8_2_a_playbook_that_costs_nothing_books_nothing(start: Start) -> None:
    """An estimate of nothing is no line in the log."""
    run = start(*looks(1))
    die_at(run)
    run = go(run)
    assert (run.status, notes(run, "lost_call")) == ("succeeded", [])


def overtaken(run: models.Run, *, times: int = 1) -> None:
    """Advance until the provider has answered; before the reply is stored, other workers take the run over.

    All but the last of them die before they have done anything.
    """
    begun: list[str] = []

    def reach(name: str) -> None:
        if name == "model.after_call" and not begun:
            begun.append(name)
            for _ in range(times - 1):
                expire_lease(run)
                assert steps.claim(run.pk) is not None
            expire_lease(run)
            assert advance.advance(run.pk)

    with mock.patch.object(points, "reach", reach):
        advance.advance(run.pk)
    assert begun


@pytest.mark.parametrize("times", [1, 2])
def test_8_2_the_reply_of_a_fenced_worker_replaces_the_estimate(
    start: Start, reviewer: models.User, times: int
) -> None:
    """A worker that lost its run but still has the reply leaves what it cost; that counts, the estimate doesn't."""
    run = start(step("lookup", "mail"), budget={"tokens": 10_000, "cost_micro": 1_000})
    with paid(100, 20, 7, most=500):
        overtaken(run, times=times)
        run.refresh_from_db()
        assert (run.status, run.reason) == ("queued", "usage")
        assert run.tokens_in + run.tokens_out == 600 + 2 * 120
        run = go(run)
        (booked,) = notes(run, "lost_call")
        (late,) = notes(run, "late_usage")
        assert (late.content["of"], late.content["instead"]) == (booked.position, booked.content["usage"])
        assert (run.status, run.steps, run.tokens_in + run.tokens_out) == ("waiting", 2, 3 * 120)
        assert balance(run, "tokens") == (360, 0)
        answer(only_review(run), reviewer, "approve")
        run = go(run)
    assert run.status == "succeeded", run.error
    assert balance(run, "cost_micro") == (28, 0)
    verifier.verify()


def test_8_2_usage_that_no_estimate_was_booked_for_is_counted(start: Start, reviewer: models.User) -> None:
    """What is learnt late counts also where nothing had been estimated, and once."""
    run = go(start(step("lookup", "mail"), budget={"tokens": 10_000}))
    usage.late(run.pk, fence=run.fence, usage={"tokens_in": 3, "tokens_out": 4, "cost_micro": None})
    run = go(run)
    assert (run.status, run.tokens_in, run.tokens_out, run.cost_known) == ("waiting", 3, 4, False)
    assert balance(run, "tokens") == (7, 0)
    verifier.verify()


@pytest.mark.parametrize("trouble", [outside.OutOfTime("late"), outside.Dropped()])
def test_8_2_a_call_that_is_given_up_is_booked_as_estimated(start: Start, trouble: Exception) -> None:
    """Whether the worker dies or no longer waits for the answer: it may have to be paid for."""
    run = start(*looks(1), budget={"tokens": 10_000})
    with paid(100, 20, 7, most=500):
        with mock.patch.object(outside, "look", side_effect=[trouble]), contextlib.suppress(StopIteration):
            go(run)
        run.refresh_from_db()
        (booked,) = notes(run, "lost_call")
        assert booked.content["usage"]["tokens_out"] == 500
        assert run.tokens_in + run.tokens_out == 600
    assert accounts.differences() == []


def test_8_2_an_answer_that_can_not_be_used_is_paid_for(start: Start) -> None:
    """A reply without any call fails the run, and its cost is in the books."""
    run = start(*looks(1), budget={"tokens": 10_000})
    usage_ = contract.Usage(tokens_in=10, tokens_out=5, cost_micro=3)
    with mock.patch.object(Playbook, "complete", return_value=contract.Reply(text="Well.", usage=usage_)):
        run = go(run)
    assert run.status == "failed"
    assert (run.steps, run.cost_micro) == (0, 3)
    assert balance(run, "tokens") == (15, 0)
    verifier.verify()
