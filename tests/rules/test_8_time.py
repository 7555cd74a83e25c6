"""Time at work: from the claim to the last commit, on the database's clock; waiting for people costs nothing."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from django.db.models import F

from runs import models
from runs.engine import verifier
from runs.transitions import steps
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.test_unknown import expire_lease
from tests.rules.spending import account, asked, balance, looks, raise_by

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def seconds(run: models.Run) -> float:
    """The run's time at work."""
    run.refresh_from_db()
    return run.active_seconds


def test_8_5_time_counts_from_claim_to_park_and_not_while_waiting(
    start: Start, reviewer: models.User
) -> None:
    """Two hours in a person's inbox cost nothing; what the worker took until it parked counts."""
    run = start(step("lookup", "mail"))
    claim = steps.claim(run.pk)
    assert claim is not None
    models.Run.objects.filter(pk=run.pk).update(claimed_at=F("claimed_at") - datetime.timedelta(seconds=30))
    steps.later(claim, reason="slice")
    assert 30 <= seconds(run) < 40
    run = go(run)
    assert run.status == "waiting"
    before = seconds(run)
    with clockwork.ahead(hours=2):
        answer(only_review(run), reviewer, "approve")
        run = go(run)
    assert run.status == "succeeded", run.error
    assert seconds(run) - before < 60


def test_8_5_a_crashed_claim_counts_to_its_last_heartbeat(start: Start) -> None:
    """Nobody saw the worker die: its time ends with the last sign of life, not with the take-over."""
    run = start(*looks(1))
    claim = steps.claim(run.pk)
    assert claim is not None
    long_ago = datetime.timedelta(minutes=10)
    models.Run.objects.filter(pk=run.pk).update(
        claimed_at=F("claimed_at") - long_ago, beat_at=F("claimed_at") - long_ago
    )
    assert steps.renew(claim)
    models.Run.objects.filter(pk=run.pk).update(beat_at=F("beat_at") - datetime.timedelta(minutes=4))
    expire_lease(run)
    assert steps.claim(run.pk) is not None
    assert 360 <= seconds(run) < 380


def test_8_5_a_claim_without_any_heartbeat_counts_nothing(start: Start) -> None:
    """A worker that died before its first heartbeat leaves no time."""
    run = start(*looks(1))
    assert steps.claim(run.pk) is not None
    expire_lease(run)
    assert steps.claim(run.pk) is not None
    assert seconds(run) == 0


def test_8_5_time_at_work_is_limited_like_everything_else(start: Start, operator: models.User) -> None:
    """When its seconds are used up the run asks; the account counts whole seconds and adds up."""
    run = start(*looks(2), budget={"seconds": 60})
    claim = steps.claim(run.pk)
    assert claim is not None
    models.Run.objects.filter(pk=run.pk).update(claimed_at=F("claimed_at") - datetime.timedelta(seconds=65))
    steps.later(claim, reason="slice")
    found = account(run, "seconds")
    assert (found.spent >= 65, found.advanced, found.over) == (True, 0, found.spent - 6)
    run = go(run)
    assert run.status == "waiting"
    assert asked(run).title == "The limit of 60 seconds at work of this run is reached."
    raise_by(run, operator, 600)
    run = go(run)
    assert run.status == "succeeded", run.error
    assert balance(run, "seconds") == (int(run.active_seconds), 0)
    verifier.verify()
