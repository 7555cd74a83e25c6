"""Whether the process that began an effect is gone is known, and one that is past its lease is ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from unittest import mock

import pytest
from django.conf import settings
from django.db.models import F

from ckptsite.services import processes
from runs import models
from runs.engine import zombies
from runs.selectors import workers
from runs.transitions import steps, tenures
from tests.engine import clockwork
from tests.engine.conftest import go, only_review, step
from tests.engine.test_unknown import crash, expire_lease, released

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


@pytest.fixture
def other() -> Iterator[subprocess.Popen[bytes]]:
    """Another process of this machine."""
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield process
    process.kill()
    process.wait()


def held_by(run: models.Run, process: subprocess.Popen[bytes], **more: object) -> models.Tenure:
    """Let another process have made the claim of this run."""
    started = processes.started_at(process.pid)
    models.Tenure.objects.filter(run=run).update(**{"pid": process.pid, "started": started, **more})
    return models.Tenure.objects.get(run=run)


def claimed(start: Start) -> models.Run:
    """A run whose worker is past its lease."""
    run = start(step("look", "it"))
    assert steps.claim(run.pk) is not None
    expire_lease(run)
    return run


def test_3_6_a_worker_past_its_lease_is_ended(start: Start, other: subprocess.Popen[bytes]) -> None:
    """It had the margin to notice by itself; then it is ended, and known to be gone."""
    tenure = held_by(claimed(start), other)
    assert zombies.sweep() == 0
    assert other.poll() is None
    with clockwork.ahead(hours=1), mock.patch.object(processes, "wait_gone", _reaped(other)):
        assert zombies.sweep() == 1
    assert other.wait(10) == -signal.SIGKILL
    tenure.refresh_from_db()
    assert tenure.gone_at is not None
    assert zombies.sweep() == 0


def _reaped(process: subprocess.Popen[bytes]) -> Callable[..., bool]:
    """Stand for whoever waits for the worker, as its parent does: a dead process that nobody waits for stays known."""
    return lambda *_args, **_more: process.wait(10) is not None


@pytest.mark.parametrize(
    "more",
    [{"started": "another boot:1"}, {"host": "another machine"}, {"alone": False}],
    ids=["another process by now", "another machine", "many at once"],
)
def test_3_6_no_other_process_is_ever_ended(
    start: Start, other: subprocess.Popen[bytes], more: dict[str, object]
) -> None:
    """The number alone means nothing: another process has it by now, or it is of another machine."""
    held_by(claimed(start), other, **more)
    with clockwork.ahead(hours=1):
        zombies.sweep()
    assert other.poll() is None


def test_3_6_a_worker_that_went_on_is_left_alone(start: Start, other: subprocess.Popen[bytes]) -> None:
    """It lost one run, noticed, and works on another: it can send nothing more for the first."""
    first = held_by(claimed(start), other)
    tenures.lose()
    second = start(step("look", "it"))
    assert steps.claim(second.pk) is not None
    held_by(second, other)
    with clockwork.ahead(hours=1):
        zombies.sweep()
    assert other.poll() is None
    first.refresh_from_db()
    assert first.gone_at is not None


def test_3_6_this_process_never_ends_itself(start: Start) -> None:
    claimed(start)
    with clockwork.ahead(hours=1), mock.patch.object(os, "kill") as kill:
        zombies.sweep()
    kill.assert_not_called()


def test_3_6_a_hand_back_is_nobodys_loss(start: Start) -> None:
    """Claims that were handed back leave one row behind, however many there were."""
    run = start(step("lookup", "mail"))
    for _ in range(3):
        go(run)
        models.Run.objects.filter(pk=run.pk).update(status="queued", wake_at=F("created_at"))
    assert models.Tenure.objects.filter(run=run, lost_at__isnull=True).count() == 1
    assert models.Tenure.objects.filter(run=run).count() == 1


def test_3_6_the_question_says_whether_the_worker_is_gone(
    start: Start, reviewer: models.User, other: subprocess.Popen[bytes]
) -> None:
    """Did it happen? It matters whether the worker that began it can still send it."""
    run = released(start, reviewer, "unprotected")
    crash(run)
    lost = held_by(run, other)
    run = go(run)
    action = models.Action.objects.get(run=run)
    assert only_review(run).kind == "in_doubt"
    assert f"not known to be gone: process {other.pid}" in workers.of(action)
    other.kill()
    other.wait()
    assert zombies.sweep() == 1
    assert "is known to be gone" in workers.of(action)
    lost.refresh_from_db()
    assert lost.gone_at is not None


def test_3_6_processes_are_told_apart_by_number_start_and_machine() -> None:
    mine = tenures.me()
    assert (mine.pid, mine.alone) == (os.getpid(), True)
    assert mine.started == processes.started_at(os.getpid())
    assert settings.CKPTSITE["MARGIN"] > 0
