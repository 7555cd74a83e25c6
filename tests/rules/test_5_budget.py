"""Budget questions among the other kinds: no deadline answers them, and an answer is bound to what was seen."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import exact, models
from runs.transitions import clocks, refusals
from tests.engine import clockwork
from tests.engine.conftest import answer, go
from tests.rules.spending import account, asked, looks, raise_by

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


@pytest.fixture
def short(start: Start) -> models.Run:
    """A run that has used up its turns."""
    return go(start(*looks(3), budget={"steps": 2, "calls": 9}))


def test_5_8_a_budget_question_never_expires_to_an_answer(short: models.Run) -> None:
    """Ten days later it is overdue, and still asked."""
    with clockwork.ahead(hours=240):
        assert clocks.expire_reviews() == 0
        assert clocks.wake_stranded() == 0
        assert go(short).status == "waiting"
    assert asked(short).status == "open"


def test_5_8_its_digest_is_limits_spent_and_asked(short: models.Run, operator: models.User) -> None:
    """Who saw other limits, other use or another wish has answered another question."""
    review = asked(short)
    assert review.content["limits"] == [["lineage", "steps", 2, 2], ["lineage", "calls", 9, 1]]
    assert review.content["asked"] == 1
    assert review.digest == exact.digest_of(review.content)
    with pytest.raises(refusals.Stale):
        answer(review, operator, "raise", amount=5, digest=exact.digest_of("something else"))
    assert account(short, "steps").limit == 2


def test_5_8_a_raise_needs_the_right_an_amount_and_a_reason(
    short: models.Run, reviewer: models.User, operator: models.User
) -> None:
    """Nobody raises a limit in passing."""
    with pytest.raises(refusals.NotYours):
        raise_by(short, reviewer, 5)
    for wrong in ({"amount": None}, {"amount": 0}, {"amount": 10**16}, {"amount": 5, "reason": " "}):
        with pytest.raises(refusals.Invalid):
            answer(asked(short), operator, "raise", **wrong)
    assert account(short, "steps").limit == 2


def test_5_8_stop_is_the_usual_stop(short: models.Run, operator: models.User) -> None:
    """The other answer ends the run with its reason, and nothing is raised."""
    answer(asked(short), operator, "stop", reason="Enough.")
    short = go(short)
    assert (short.status, short.stop_by, short.stop_reason) == ("cancelled", operator, "Enough.")
    assert account(short, "steps").limit == 2


def test_5_8_the_same_form_twice_raises_once(short: models.Run, operator: models.User) -> None:
    """A double click raises by as much as one."""
    review = asked(short)
    for _ in range(2):
        answer(review, operator, "raise", amount=5, token="the-same")
    assert account(short, "steps").limit == 7
