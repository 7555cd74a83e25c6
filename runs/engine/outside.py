"""The one door to models and tools. Behind it this process holds no transaction and no lock.

An effect runs in the thread of the engine, under a timer of the kernel that ends the process before the effect's
horizon. Everything else only looks: it runs in a thread that can be given up, on a database connection that refuses
writes, and its answer counts only within its time.
"""

from __future__ import annotations

import contextvars
import os
import queue
import signal
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from django.db import connection, connections

from runs.engine.heartbeat import Heartbeat
from runs.transitions.refusals import LostAuthority

T = TypeVar("T")

TICK = 0.25
"""Seconds between two looks at whether this process is told to stop or has lost the run."""

MAX_THREADS = 64
"""So many threads at once mean that looks of this process never end; it takes no more of them."""

_BUSY = frozenset({1, 2, 3})  # libpq: a statement under way, inside a transaction, inside a failed one


class Holding(RuntimeError):
    """A model or tool was about to be called inside a transaction, or with a lock held."""


class OutOfTime(TimeoutError):
    """The look took longer than it may; its late answer is dropped."""


class Dropped(Exception):
    """This process is told to stop, so the look was given up."""


_probe: Callable[[], None] | None = None


def watch(probe: Callable[[], None] | None) -> None:
    """Call `probe` before each call from now on; None: no longer. For tests that look closer than `free` does."""
    global _probe  # noqa: PLW0603 the one switch, thrown by tests only
    _probe = probe


def free() -> None:
    """Refuse (Holding) when this thread has a transaction open: locks end with their transaction."""
    own = connections["default"]
    raw = own.connection
    if own.in_atomic_block or (raw is not None and raw.pgconn.transaction_status in _BUSY):
        raise Holding("a model or tool may not be called inside a transaction")
    if _probe is not None:
        _probe()


def act(effect: Callable[[], T], *, within: float) -> T:
    """Return what the effect returns. After `within` seconds the kernel ends this process, whatever it is doing.

    It needs no thread of ours, no database and no interpreter, and it also ends a process that was frozen in time
    before it goes on.
    """
    free()
    timed = threading.current_thread() is threading.main_thread()
    if timed:
        signal.setitimer(signal.ITIMER_REAL, max(within, 0.001))
    try:
        result = effect()
    finally:
        if timed:
            signal.setitimer(signal.ITIMER_REAL, 0)
    return result


def here(function: Callable[[], T]) -> T:
    """Return what `function` returns, which asks nothing that isn't in this process."""
    free()
    return function()


class Unclaimed:
    """Stands for the heartbeat where no run is claimed: nothing can be lost, and nobody has to be told how long."""

    lost = False

    def stopping(self) -> bool:
        """Return False: what is looked at here is short."""
        return False

    def allow(self, seconds: float) -> None:
        """Do nothing."""


def look(
    function: Callable[[], T], *, beat: Heartbeat | Unclaimed, timeout: float, patience: float = 0.0
) -> T:
    """Return what `function` returns. Refuses OutOfTime after `timeout`, and Dropped and LostAuthority before.

    A process that is told to stop still waits `patience` seconds for the answer.
    """
    looks: Looks[None, T] = Looks(beat)
    looks.start(None, function, timeout=timeout)
    return looks.next(patience=patience).result()


class Look(Generic[T]):
    """One look under way or done."""

    def __init__(self, function: Callable[[], T], answers: queue.SimpleQueue[Look[T]], until: float) -> None:
        self.until = until
        self._function = function
        self._answers = answers
        self._context = contextvars.copy_context()
        self._result: T | None = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Look, in this thread, and say so."""
        try:
            self._result = self._context.run(self._function)
        except BaseException as error:  # raised again where the answer is read
            self._error = error
        self._answers.put(self)

    def give_up(self) -> None:
        """Let its answer be that it ran out of time."""
        self._error = OutOfTime("it did not answer in time")

    def result(self) -> T:
        """Return the answer or raise the error."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value] # set, as there was no error


K = TypeVar("K")


class Looks(Generic[K, T]):
    """Looks side by side, each under a name of the caller's, in the order in which they end."""

    def __init__(self, beat: Heartbeat | Unclaimed) -> None:
        self._beat = beat
        self._answers: queue.SimpleQueue[Look[T]] = queue.SimpleQueue()
        self._names: dict[Look[T], K] = {}
        self.name: K | None = None

    def __len__(self) -> int:
        return len(self._names)

    def start(self, name: K, function: Callable[[], T], *, timeout: float) -> None:
        """Begin one more. Refuses Holding, and RuntimeError when too many looks of this process never ended."""
        free()
        now = time.monotonic()
        found = Look(function, self._answers, now + timeout)
        _threads.run(found)
        self._names[found] = name
        self._beat.allow(max(look.until for look in self._names) - now)

    def next(self, *, patience: float = 0.0) -> Look[T]:
        """Return the next one that ended or ran out of time, and set `name` to its name.

        Refuses Dropped and LostAuthority.
        """
        told: float | None = None
        while True:
            due = min(self._names, key=lambda look: look.until)
            left = due.until - time.monotonic()
            try:
                found = self._answers.get(timeout=max(min(left, TICK), 0.0))
            except queue.Empty:
                if self._beat.lost:
                    raise LostAuthority("the heartbeat lost the run") from None
                if self._beat.stopping():
                    told = told or time.monotonic()
                    if time.monotonic() >= told + patience:
                        raise Dropped from None
                if left > 0:
                    continue
                found = due
                found.give_up()
            if found in self._names:  # else it was given up before
                self.name = self._names.pop(found)
                return found


class _Threads:
    """Threads that look; one that is done waits for the next look."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._free: list[queue.SimpleQueue[Look[Any]]] = []
        self._count = 0

    def run(self, look: Look[Any]) -> None:
        with self._lock:
            if not self._free and self._count >= MAX_THREADS:
                raise RuntimeError("too many looks of this worker never ended")
            if self._free:
                inbox = self._free.pop()
            else:
                inbox = queue.SimpleQueue()
                self._count += 1
                threading.Thread(target=self._serve, args=[inbox], name="look", daemon=True).start()
        inbox.put(look)

    def _serve(self, inbox: queue.SimpleQueue[Look[Any]]) -> None:
        while True:
            look = inbox.get()
            _read_only()
            try:
                look.run()
            finally:
                connection.close()
            with self._lock:
                self._free.append(inbox)

    def forget(self) -> None:
        """A forked child has none of its parent's threads."""
        self.__init__()  # type: ignore[misc] # as new


def _read_only() -> None:
    """Let this thread's connection, should it be opened, refuse writes."""
    given = connections.settings["default"]
    options = {name: value for name, value in given["OPTIONS"].items() if name != "pool"}
    options["options"] = f"{options.get('options', '')} -c default_transaction_read_only=on".strip()
    connections["default"].settings_dict = {**given, "OPTIONS": options}


_threads = _Threads()
os.register_at_fork(after_in_child=_threads.forget)
