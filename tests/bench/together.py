"""Several runs in one process, and many that wait."""

from __future__ import annotations

import dataclasses
import statistics
import threading
import time
from collections.abc import Callable

from django.db import connection

from runs import lifecycle, models
from runs.engine import advance, clock, worker
from tests.bench import counting, recordings, tools

AT_ONCE = 4
SWEEPS = 10


def speed_up(steps: int) -> float:
    """Return how many times faster four runs at once, in threads of one process, get on than one alone."""
    alone = _seconds([recordings.start(recordings.singles(steps))])
    several = _seconds([recordings.start(recordings.singles(steps)) for _ in range(AT_ONCE)])
    return AT_ONCE * alone / several


def _seconds(runs: list[models.Run]) -> float:
    threads = [threading.Thread(target=_through, args=[run.pk]) for run in runs]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    passed = time.perf_counter() - began
    for run in runs:
        run.refresh_from_db()
        assert run.status == lifecycle.Run.SUCCEEDED, (run.status, run.error)
    return passed


def _through(run_id: int) -> None:
    try:
        while advance.advance(run_id):
            pass
    finally:
        connection.close()


@dataclasses.dataclass(frozen=True, kw_only=True)
class Rest:
    """What a sweep and an idle worker do: statements, and milliseconds."""

    statements: float
    milliseconds: float
    slices: int


def at_rest() -> Rest:
    """Return what the clock and an idle worker cost now."""
    run_id = models.Run.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    clock.tick()  # whatever is due is done now
    slices = worker.drain(until_idle=False)

    def sweep() -> None:
        clock.tick()
        worker.work(run_id, stopping=advance.never)

    sweep()
    with counting.statements() as said:
        found = [_timed(sweep) for _ in range(SWEEPS)]
    return Rest(
        statements=said.statements / SWEEPS,
        milliseconds=1000 * statistics.median(found),
        slices=slices,
    )


def let_wait(count: int) -> None:
    """Let this many runs stop before an effect that a person must release."""
    runs = [recordings.start(recordings.singles(1, tool=tools.Send)) for _ in range(count)]
    worker.drain(until_idle=False)
    waiting = models.Run.objects.filter(pk__in=[run.pk for run in runs], status=lifecycle.Run.WAITING)
    assert waiting.count() == count


def _timed(act: Callable[[], None]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began
