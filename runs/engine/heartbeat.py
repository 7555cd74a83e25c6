"""Renewing the lease from a thread and connection of its own, and only while the current move may still take."""

from __future__ import annotations

import contextvars
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import structlog
from django.conf import settings
from django.db import OperationalError, connection
from psycopg.errors import LockNotAvailable

from runs.transitions import steps

log = structlog.get_logger(__name__)


def never() -> bool:
    """Return False: nobody asks this process to stop."""
    return False


class Heartbeat:
    """Keeps one claim alive. `lost` turns True when the database says that the claim isn't ours any more.

    `stopping` says whether this process was told to stop.
    """

    def __init__(self, claim: steps.Claim, *, stopping: Callable[[], bool] = never) -> None:
        self.claim = claim
        self.stopping = stopping
        self.lost = False
        self._ended = False
        self._changed = threading.Condition()
        self._until = time.monotonic() + 60.0
        self._wakes = self._until
        self._thread = threading.Thread(
            target=contextvars.copy_context().run,  # its lines say what they are about
            args=[self._beat],
            name=f"heartbeat-{claim.run_id}",
            daemon=True,
        )

    def allow(self, seconds: float, *, grace: float | None = None) -> None:
        """Say how long the move that begins now may take; past that and a grace (the margin) the process is ended."""
        until = time.monotonic() + seconds + (settings.CKPTSITE["MARGIN"] if grace is None else grace)
        with self._changed:
            self._until = until
            if until < self._wakes:  # else the thread looks at it in time by itself
                self._changed.notify()

    def start(self) -> None:
        """Start beating."""
        self._thread.start()

    def stop(self) -> None:
        """Stop beating and wait for the thread to close its connection."""
        with self._changed:
            self._ended = True
            self._changed.notify()
        self._thread.join(timeout=10)

    def _beat(self) -> None:
        try:
            renewed = time.monotonic()
            while self._wait(renewed):
                if time.monotonic() >= self._until:
                    # The move hangs where nothing can interrupt it. Its effect must not outlive its horizon.
                    log.error("move_overran")
                    end_process()
                    return
                if not self._renewed(within=self._until - time.monotonic() + settings.CKPTSITE["MARGIN"]):
                    self.lost = True
                    return
                renewed = time.monotonic()
        except Exception as error:  # an unreachable database is lost authority, whatever it says
            self.lost = True
            log.warning("heartbeat_lost", error=f"{type(error).__name__}: {error}")
        finally:
            connection.close()

    def _renewed(self, *, within: float) -> bool:
        """Return whether the run is still ours, as far as the database says."""
        try:
            return steps.renew(self.claim, within=within)
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable):
                raise
            # Somebody has the row locked for long, most likely this very worker with a large commit: that says nothing
            # about whose run it is. The lease still runs, and the next beat asks again.
            log.info("heartbeat_waits")
            return True

    def _wait(self, renewed: float) -> bool:
        """Wait for the next beat or the end of the move's time, whichever comes first; False once stopped."""
        beat = renewed + settings.CKPTSITE["HEARTBEAT"]
        with self._changed:
            while not self._ended:
                self._wakes = min(beat, self._until)
                pause = self._wakes - time.monotonic()
                if pause <= 0:
                    return True
                self._changed.wait(pause)
        return False


def end_process() -> None:
    """End this process at once; a function of its own, so that tests can watch it instead."""
    os._exit(70)


@contextmanager
def beating(claim: steps.Claim, *, stopping: Callable[[], bool] = never) -> Iterator[Heartbeat]:
    """Keep the claim alive while the block runs."""
    beat = Heartbeat(claim, stopping=stopping)
    beat.start()
    try:
        yield beat
    finally:
        beat.stop()
