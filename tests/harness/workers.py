"""Workers of the state machine: in this process, one at a time, with an end of their own at a point they pass.

A worker may die there (nothing of the engine catches that), lose the answer to a commit, have its connection cut, or
stand still in a thread of its own until it is let go: the zombie that comes back with an old claim.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from django.conf import settings
from django.db import OperationalError, connection

from runs import hints, points
from runs.engine import advance, heartbeat
from tests.harness import small_world

ENDS = ("dies", "answer lost", "cut", "stalls")


class Dead(BaseException):
    """Stands for kill -9."""


@dataclass
class Worker:
    """One life: what happens to it at the nth point that it passes."""

    end: str
    at: int
    passed: int = 0
    where: str = ""
    error: str = ""
    reached: threading.Event = field(default_factory=threading.Event)
    gone_on: threading.Event = field(default_factory=threading.Event)
    thread: threading.Thread | None = None

    def reach(self, name: str) -> None:
        """Pass a point."""
        if not self._fits(name):
            return
        self.passed += 1
        if self.passed != self.at:
            return
        self.where = name
        match self.end:
            case "dies":
                raise Dead(name)
            case "answer lost":
                raise OperationalError("the answer to the commit was lost")
            case "cut":
                connection.connection.close()
            case "stalls":
                self.reached.set()
                self.gone_on.wait(60)

    def _fits(self, name: str) -> bool:
        match self.end:
            case "answer lost":
                return name.endswith(".after_commit") and not name.startswith("claim.")
            case "cut":
                return name.endswith(".before_commit") and not name.startswith("claim.")
            case "stalls":  # standing still with a row locked is a matter of lock_timeout, not of zombies
                return not name.endswith(".before_commit")
        return True


class Workers:
    """Those that live, by thread."""

    def __init__(self) -> None:
        self._here: dict[int, Worker] = {}
        self.stalled: list[Worker] = []

    def reach(self, name: str) -> None:
        """Let the worker of this thread pass the point."""
        worker = self._here.get(threading.get_ident())
        if worker is not None:
            worker.reach(name)

    def live(self, run_id: int, end: str = "", at: int = 0) -> str:
        """Return what became of a worker that advances the run: its end, or nothing."""
        worker = Worker(
            end=end, at=at if end in {"dies", "stalls"} else 1 + at % 5
        )  # of commits there are fewer
        if end == "stalls":
            worker.thread = threading.Thread(target=self._thread, args=(worker, run_id), daemon=True)
            worker.thread.start()
            worker.reached.wait(60)
            if worker.where and worker.thread.is_alive():
                self.stalled.append(worker)
            else:
                worker.thread.join(60)
        else:
            self._advance(worker, run_id)
        assert not worker.error, worker.error
        return worker.where

    def let_go(self, index: int) -> None:
        """Let one that stands still go on, and wait for its end."""
        worker = self.stalled.pop(index % len(self.stalled))
        worker.gone_on.set()
        assert worker.thread is not None
        worker.thread.join(60)
        assert not worker.thread.is_alive()
        assert not worker.error, worker.error

    def _thread(self, worker: Worker, run_id: int) -> None:
        try:
            self._advance(worker, run_id)
        except Exception as error:  # it is raised again by whoever waits for the thread
            worker.error = f"{type(error).__name__}: {error}"
        finally:
            connection.close()
            worker.reached.set()

    def _advance(self, worker: Worker, run_id: int) -> None:
        here = threading.get_ident()
        self._here[here] = worker
        try:
            advance.advance(run_id)
        except Dead:
            if connection.connection is not None and connection.connection.closed:
                connection.close()
        finally:
            del self._here[here]


class Quiet(heartbeat.Heartbeat):
    """No beat: the machine itself moves the clock, and with it the leases."""

    def start(self) -> None:
        """Do nothing."""

    def stop(self) -> None:
        """Do nothing."""


@contextmanager
def working() -> Iterator[Workers]:
    """Give the workers; hints are only points that they pass, and times are long, since the clock is moved by hand."""
    made = Workers()

    def publish(what: str, run_id: int, *, inbox: bool = False) -> bool:
        points.reach(f"{what}.before")
        points.reach(f"{what}.after")
        return True

    times = {"LEASE": 15.0, "MARGIN": 5.0, "SLICE": 1000.0, "READ_TIMEOUT": 30.0, "EFFECT_TIMEOUT": 30.0,
             "MODEL_TIMEOUT": 120.0, "SETTLE": small_world.SETTLE, "POISON": 5, "MAX_SENDS": 3}  # fmt: skip
    patches: list[Callable[[], Any]] = [
        lambda: mock.patch.object(hints, "_publish", publish),
        lambda: mock.patch.object(heartbeat, "Heartbeat", Quiet),
        lambda: mock.patch.dict(settings.CKPTSITE, times),
    ]
    with ExitStack() as stack:
        for patch in patches:
            stack.enter_context(patch())
        points.arm(made.reach)
        try:
            yield made
        finally:
            points.arm(None)
            while made.stalled:
                made.let_go(0)
