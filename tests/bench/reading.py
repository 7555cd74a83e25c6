"""Reading a long run: the newest page of its history, its whole state, and going on from one of its checkpoints."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Callable

from runs import models, state
from runs.engine import advance
from runs.models import paths
from runs.selectors import keyset, run_log
from runs.selectors.run_timeline import SIZE
from runs.transitions import clocks, holds, redrives
from runs.transitions.actor import Actor
from tests.bench import recordings

TRIES, BRANCHES, PAGE = 15, 5, 50
_numbers = itertools.count(1)


def newest_page(run: models.Run) -> float:
    """Return the milliseconds for the newest lines of the history, as they were stored."""

    def read() -> None:
        newest = models.Entry.objects.filter(run=run).order_by("-position")
        rows = list(newest.values_list("position", "kind", "content", "created_at")[:PAGE])
        assert rows[0][0] == run.position

    return _milliseconds(read)


def shown_page(run: models.Run) -> float:
    """Return the milliseconds for the newest lines as the run's page reads them, long ones cut."""

    def read() -> None:
        rows, _ = keyset.page(
            run_log.cut(models.Entry.objects.filter(run=run)),
            by=("position",),
            params={},
            size=SIZE,
            total=run.position,
        )
        assert rows[0].position == run.position

    return _milliseconds(read)


def whole_state(run: models.Run) -> float:
    """Return the milliseconds for the state of the run, rebuilt from its whole log."""

    def read() -> None:
        found = state.fold(paths.told(run.path, run.pk))
        assert found.position == run.position

    return _milliseconds(read)


def redrive(run: models.Run) -> float:
    """Return the milliseconds for going on from the middle of an ended run, until a worker could claim it.

    Each new attempt has ended again before the next one, so that none waits for another.
    """
    by = Actor(user=recordings.person("operator"))
    middle = run.checkpoint_number // 2
    found = []
    for _ in range(BRANCHES):
        token = f"bench-redrive-{next(_numbers)}"
        began = time.perf_counter()
        new = redrives.redrive(run.pk, checkpoint=middle, reason="Once more.", by=by, token=token)
        found.append(time.perf_counter() - began)
        assert clocks.next_due() == new.pk
        holds.stop(new.pk, reason="That was all.", by=by)
        advance.advance(new.pk)
    return 1000 * statistics.median(found)


def _milliseconds(act: Callable[[], None]) -> float:
    act()
    found = []
    for _ in range(TRIES):
        began = time.perf_counter()
        act()
        found.append(time.perf_counter() - began)
    return 1000 * statistics.median(found)
