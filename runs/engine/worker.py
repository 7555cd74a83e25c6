"""What a worker does with a hint: advance that run, then look for due work itself; and the same in the foreground."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import close_old_connections

from runs.engine import advance, delivering, verifying, zombies
from runs.transitions import children, clocks, effect_words, ladders, pins

log = structlog.get_logger(__name__)


_served: set[int] = set()
"""The agents whose runs this process has taken up by itself in this turn."""


def settle_in() -> None:
    """Let the garbage collector pass over what is loaded by now, and come less often: for a process that only works."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 100)


def work(run_id: int, *, stopping: Callable[[], bool]) -> None:
    """Advance the hinted run, then other due runs until the slice is over, so that lost hints cost little."""
    close_old_connections()
    end = time.monotonic() + settings.CKPTSITE["SLICE"]
    tried: frozenset[int] = frozenset()
    following: int | None = run_id
    while following is not None and not stopping():
        advance.advance(following, stopping=stopping)
        tried |= {following}
        following = clocks.next_due(exclude=tried, served=_served) if time.monotonic() < end else None


def drain(*, until_idle: bool, stopping: Callable[[], bool] = advance.never) -> int:
    """Return how many slices were run in this process: without a broker, until nothing is due now, also to be told.

    With `until_idle` it also waits for what becomes due by itself within a minute: back-off, undo window, horizon.
    """
    close_old_connections()
    done = 0
    while not stopping():
        zombies.sweep()
        clocks.expire_reviews()
        clocks.escalate()
        ladders.climb()
        children.stop_below()
        children.give_back()
        clocks.wake_new_day()
        clocks.wake_stranded()
        pins.wake_restored()
        effect_words.index()
        verifying.pending()
        following = clocks.next_due(served=_served)
        if following is not None:
            done += advance.advance(following, stopping=stopping)
            continue
        if delivering.tell(stopping=stopping):
            continue
        pause = clocks.next_alarm() if until_idle else None
        if pause is None:
            return done
        time.sleep(min(pause, 0.5))
    return done
