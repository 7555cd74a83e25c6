"""The clock: a process of its own that finds what time has made due. It holds no worker slot."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog
from django.conf import settings
from django.db import close_old_connections, connection

from runs import hints
from runs.engine import advance, delivering, heads, origin, zombies
from runs.transitions import (
    api_calls,
    attempts,
    chain_checks,
    children,
    clocks,
    effect_words,
    judging,
    ladders,
    mcp,
    notices,
    pins,
    pulse,
    verifications,
)

log = structlog.get_logger(__name__)

TIDY = 5.0
"""Seconds between two looks at what nobody waits for: words of effects, looks that were lost, checks, digests."""
DAY_LOOK = 60.0
"""Seconds between two looks at whether a new day has begun, and at what is a day old."""


class Net:
    """Goes round through the runs that wait, some a tick, for those that a wake-up was lost of."""

    def __init__(self) -> None:
        self._after = 0

    def look(self) -> int:
        """Return how many of the next ones were woken."""
        woken, self._after = clocks.wake_stranded_behind(self._after)
        return woken


def tick(*, stopping: Callable[[], bool] = advance.never, net: Net | None = None) -> None:
    """Do once what is due: expire questions, hint at due runs; advance them here if no hint gets through."""
    felt = pulse.feel()
    if felt.lost:
        zombies.sweep()
    if felt.expired:
        clocks.expire_reviews()
    if felt.overdue:
        clocks.escalate()
    if felt.rungs:
        ladders.climb()
    if felt.snoozed:
        clocks.wake_snoozed()
    if felt.handed:
        children.stop_below()
        children.give_back()
    woken = (net or Net()).look()
    unheard: list[int] = []
    if felt.due or felt.expired or felt.handed or woken:
        room = clocks.slots() - (hints.queued() or 0)  # slow workers must not let the queue grow
        unheard = [run_id for run_id in clocks.due_runs(limit=room) if not hints.wake_now(run_id)]
    for run_id in unheard:
        if stopping():
            return
        advance.advance(run_id, stopping=stopping)


def tidy() -> bool:
    """Do what can wait a few seconds; return whether there is more of it at once."""
    judging.sweep()
    pins.wake_restored()
    attempts.anchor()
    effect_words.index()
    verifications.again()
    mcp.look_again()
    notices.note_late()
    return chain_checks.step() > 0


def run(*, stopping: Callable[[], bool]) -> None:
    """Tick once a second until told to stop. A tick that fails is logged; the next one tries again."""
    pause, keeper, herald, net = settings.CKPTSITE["CLOCK"], heads.Keeper(), delivering.Herald(), Net()
    looked = tidied = float("-inf")
    while not stopping():
        began = time.monotonic()
        try:
            close_old_connections()
            origin.ensure()  # pages say that a database was restored, even where no run is due
            if began >= looked + DAY_LOOK:
                clocks.wake_new_day()
                api_calls.forget()
                notices.forget()
                looked = began
            tick(stopping=stopping, net=net)
            keeper.look()
            herald.look(stopping=stopping)
            if began >= tidied + TIDY and not tidy():
                tidied = began
        except Exception as error:  # a database that restarts must not end the clock
            log.warning("tick_failed", error=f"{type(error).__name__}: {error}")
            connection.close()
        time.sleep(max(0.0, pause - (time.monotonic() - began)))
