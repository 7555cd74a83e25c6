"""How long a run stands still after its worker was killed inside an open effect."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import signal
import time
from collections.abc import Iterator

from django.conf import settings
from django.db import connections

from runs import lifecycle, models
from runs.engine import advance, clock
from runs.transitions import clock_time
from tests import waiting
from tests.bench import recordings, tools

_TIMES = {"LEASE": 2.0, "HEARTBEAT": 0.5, "MARGIN": 0.5, "CLOCK": 0.5}


@dataclasses.dataclass(frozen=True, kw_only=True)
class Recovered:
    """Seconds from the kill until another worker had claimed the run, and what is allowed."""

    seconds: float
    allowed: float


def after_kill() -> Recovered:
    """Kill a forked worker inside an effect, and return how long the run took to find another one.

    Allowed is what was left of its lease, which covers the open effect's deadline and the margin, and two sweeps.
    """
    with _short():
        run = recordings.start(recordings.singles(1, tool=tools.Hang))
        worker = _forked(run.pk)
        try:
            sent = models.Entry.objects.filter(run=run, kind=lifecycle.EntryKind.INTENT)
            waiting.until(sent.exists, within=30, what="the effect is under way")
        finally:
            os.kill(worker, signal.SIGKILL)
            killed = time.monotonic()
            os.waitpid(worker, 0)
        run.refresh_from_db()
        assert run.lease_until is not None
        left = (run.lease_until - clock_time.now()).total_seconds()
        fence, every = run.fence, settings.CKPTSITE["CLOCK"]
        while run.fence == fence:
            began = time.monotonic()
            clock.tick()
            run.refresh_from_db()
            if run.fence == fence:
                time.sleep(max(0.0, every - (time.monotonic() - began)))  # the clock's own pace
            assert began - killed < 60, "nobody took the run over"
        return Recovered(seconds=time.monotonic() - killed, allowed=max(_TIMES["LEASE"], left) + 2 * every)


def _forked(run_id: int) -> int:
    """Return the process of a worker that advances the run."""
    connections.close_all()
    child = os.fork()
    if child == 0:
        try:
            advance.advance(run_id)
        finally:
            os._exit(1)
    return child


@contextlib.contextmanager
def _short() -> Iterator[None]:
    """Lower the times, so that nobody waits half a minute for each try."""
    kept = {name: settings.CKPTSITE[name] for name in _TIMES}
    settings.CKPTSITE.update(_TIMES)
    try:
        yield
    finally:
        settings.CKPTSITE.update(kept)
