"""The lease is renewed only while the current move may still take; a move that overruns ends its process."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from unittest import mock

import pytest
from django.db import OperationalError
from psycopg.errors import LockNotAvailable

from runs import models
from runs.engine import heartbeat
from runs.transitions import steps
from tests import waiting
from tests.engine.conftest import step

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


@pytest.fixture
def claim(start: Start) -> steps.Claim:
    """A claimed run."""
    found = steps.claim(start(step("look", "it")).pk)
    assert found is not None
    return found


def test_a_lease_is_renewed(claim: steps.Claim) -> None:
    before = models.Run.objects.get(pk=claim.run_id).lease_until
    assert before is not None

    def renewed() -> bool:
        now = models.Run.objects.get(pk=claim.run_id).lease_until
        return now is not None and now > before

    with heartbeat.beating(claim) as beat:
        beat.allow(30)
        waiting.until(renewed)
    assert not beat.lost


def test_a_higher_fence_is_lost_authority(claim: steps.Claim) -> None:
    models.Run.objects.filter(pk=claim.run_id).update(fence=claim.fence + 1)
    with heartbeat.beating(claim) as beat:
        beat.allow(30)
        waiting.until(lambda: beat.lost)
    assert beat.lost


def test_a_move_that_overruns_ends_the_process_before_its_horizon(claim: steps.Claim) -> None:
    ended = threading.Event()
    with mock.patch.object(heartbeat, "end_process", ended.set), heartbeat.beating(claim) as beat:
        beat.allow(30)
        began = time.monotonic()
        beat.allow(0.1, grace=0.1)
        assert ended.wait(5)
    assert 0.2 <= time.monotonic() - began < 2


def test_a_row_that_is_locked_for_long_says_nothing_about_whose_run_it_is(claim: steps.Claim) -> None:
    """The worker's own large commit may hold the row longer than a heartbeat waits: it goes on, and asks again."""
    asked: list[bool] = []

    def renew(_held: steps.Claim, *, within: float) -> bool:
        asked.append(True)
        if len(asked) == 1:
            raise OperationalError("lock timeout") from LockNotAvailable("lock timeout")
        return True

    with mock.patch.object(steps, "renew", renew), heartbeat.beating(claim) as beat:
        beat.allow(30)
        waiting.until(lambda: len(asked) >= 2)
    assert not beat.lost


def test_a_database_that_is_away_is_lost_authority(claim: steps.Claim) -> None:
    with (
        mock.patch.object(steps, "renew", side_effect=OperationalError("server closed the connection")),
        heartbeat.beating(claim) as beat,
    ):
        beat.allow(30)
        waiting.until(lambda: beat.lost)
    assert beat.lost
