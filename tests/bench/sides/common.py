"""What all sides have in common: the run, the moments that are noted, and what each side must be able to do."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Protocol

from tests.bench import payloads

WAITS, FOREVER = 60.0, 7200.0
PAUSE = 0.1
"""Seconds that a person takes at least, so that whoever waits for the answer really waits."""


class Moments:
    """When the model was asked, when effects began, and when a person was asked. Threads may wait for the next."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.begun: list[float] = []
        self.stopped: list[float] = []
        self._changed = threading.Condition()

    def model(self) -> None:
        """Note that the model is asked."""
        self._note(self.asked)

    def effect(self, name: str) -> str:
        """Note that an effect begins, and return its result."""
        self._note(self.begun)
        return payloads.payload(name)

    def person(self) -> None:
        """Note that a person is asked."""
        self._note(self.stopped)

    def until(self, held: Callable[[], bool], *, within: float = WAITS) -> None:
        """Wait until this holds; refuse (TimeoutError) when it takes longer."""
        with self._changed:
            if not self._changed.wait_for(held, timeout=within):
                raise TimeoutError("The run did not get on.")

    def _note(self, kind: list[float]) -> None:
        with self._changed:
            kind.append(time.perf_counter())
            self._changed.notify_all()


class Limit:
    """How many steps there are, and the seconds after which there are no more of them."""

    def __init__(self, steps: int, *, asks: int, seconds: float) -> None:
        self.steps, self.asks = steps, asks
        self._end = time.monotonic() + seconds

    def reached(self, number: int) -> bool:
        """Return whether no further step comes after `number` of them."""
        return number >= self.steps or time.monotonic() > self._end


class Side(Protocol):
    """One product in one way of using it."""

    moments: Moments

    def open(self) -> None:
        """Start the product in this process."""

    def start(self, limit: Limit) -> str:
        """Return the number of a new run, which has done its steps and waits for a person."""

    def answer(self, run: str) -> None:
        """Say yes to what the run waits for; return once it waits again or has ended, in this process."""

    def answer_first(self, run: str) -> float:
        """Say yes to what is asked last, then start the product; return the moment of that once the run has ended."""

    def read(self, run: str) -> int:
        """Read the whole state of the run from the database, and return how many results it holds."""

    def fork(self, run: str, step: int) -> None:
        """Let a branch of an ended run begin after so many steps; return once its model was asked."""
