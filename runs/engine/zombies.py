"""Ending worker processes of this machine that are past their lease, and learning which of them are gone."""

from __future__ import annotations

import os
import signal

import structlog
from django.conf import settings

from ckptsite.services import processes
from runs import models
from runs.transitions import clock_time, tenures

log = structlog.get_logger(__name__)


def sweep() -> int:
    """Return how many lost claims are known to be over now.

    A process is ended only if it is the one that made the claim (number and start), does one thing at a time, has
    claimed nothing since, and had the margin to notice by itself. It is never this process.
    """
    tenures.lose()
    return sum(_settle(tenure) for tenure in tenures.lost(tenures.me().host))


def _settle(tenure: models.Tenure) -> bool:
    if _lives(tenure):
        if tenure.alone and tenures.moved_on(tenure):
            return tenures.gone(tenure)
        assert tenure.lost_at is not None
        patience = clock_time.seconds(settings.CKPTSITE["MARGIN"])
        if not tenure.alone or tenure.pid == os.getpid() or clock_time.now() < tenure.lost_at + patience:
            return False
        log.warning("worker_ended", run=tenure.run_id, fence=tenure.fence, pid=tenure.pid)
        try:
            os.kill(tenure.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        except PermissionError:
            return False
        if not processes.wait_gone(tenure.pid, within=1.0):
            return False
    return tenures.gone(tenure)


def _lives(tenure: models.Tenure) -> bool:
    return bool(tenure.started) and processes.started_at(tenure.pid) == tenure.started
