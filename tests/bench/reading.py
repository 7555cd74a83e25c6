"""Reading a long run: the newest page of its history, its whole state, and going on from one of its checkpoints."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from runs import models, state
from runs.selectors import keyset, run_log
from runs.selectors.run_timeline import SIZE

TRIES = 15


def newest_page(run: models.Run) -> float:
    """Return the milliseconds for the newest lines of the history, as its page reads them."""

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
        lines = models.Entry.objects.filter(run=run).order_by("position")
        found = state.fold(
            state.Entry(position=position, kind=kind, content=content)
            for position, kind, content in lines.values_list("position", "kind", "content")
        )
        assert found.position == run.position

    return _milliseconds(read)


def _milliseconds(act: Callable[[], None]) -> float:
    act()
    found = []
    for _ in range(TRIES):
        began = time.perf_counter()
        act()
        found.append(time.perf_counter() - began)
    return 1000 * statistics.median(found)
