"""Plays many trials at once on a few hands: most of a trial is waiting, so the hands are shared.

A trial is a generator. It yields a number of seconds to sleep, or steps to be done side by side, and gets their
reports. A step that isn't finished after `within` is reported as pending, and can be awaited later.
"""

from __future__ import annotations

import heapq
import itertools
import selectors
import time
from collections import deque
from collections.abc import Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from tests.harness.hands import Command, Hand, Report
from tests.harness.plan import Death

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Order:
    """Something that any hand may do."""

    do: str
    given: Mapping[str, Any]
    death: Death | None = None


@dataclass(frozen=True)
class Go:
    """Let a hand go on that stands still, and await what becomes of its order."""

    hand: Hand


@dataclass(frozen=True)
class Await:
    """Await what becomes of an order that was pending."""

    hand: Hand


@dataclass(frozen=True)
class Steps:
    """Steps to do side by side; after `within` seconds those that aren't finished are reported as pending."""

    steps: tuple[Order | Go | Await, ...]
    within: float | None = None


Play = Generator["Steps | float", list[Report], T]


@dataclass(eq=False)
class _Trial:
    play: Play[Any]
    reports: list[Report | None] = field(default_factory=list)
    hands: list[Hand | None] = field(default_factory=list)
    turn: int = 0


class Stage:
    """The hands of one database and the trials that they serve."""

    def __init__(self, commands: Mapping[str, Command], *, size: int) -> None:
        self._commands, self._size = commands, size
        self._idle: list[Hand] = []
        self._working: dict[Hand, tuple[_Trial, int] | None] = {}  # None: nobody awaits it yet
        self._standing: set[Hand] = set()
        self._early: dict[Hand, Report] = {}
        self._queue: deque[tuple[_Trial, int, Order]] = deque()
        self._alarms: list[tuple[float, int, _Trial, int]] = []
        self._numbers = itertools.count()
        self._selector = selectors.DefaultSelector()
        self._done: list[Any] = []

    def run(self, plays: Iterable[Play[T]], *, width: int) -> Iterator[T]:
        """Give what each play returns, as they end; at most `width` play at once."""
        waiting, active = deque(plays), 0
        while waiting or active:
            while waiting and active < width:
                active += 1
                self._proceed(_Trial(waiting.popleft()), None)
            while self._done:
                active -= 1
                yield self._done.pop()
            if active:
                self._turn()
        self.close()

    def close(self) -> None:
        """End all hands."""
        for hand in {*self._idle, *self._working, *self._standing}:
            hand.end()
        self._idle, self._working, self._standing = [], {}, set()

    def _proceed(self, trial: _Trial, reports: list[Report] | None) -> None:
        trial.turn += 1
        try:
            wish = trial.play.send(reports)  # type: ignore[arg-type]
        except StopIteration as ended:
            self._done.append(ended.value)
            return
        if isinstance(wish, Steps):
            trial.reports = [None] * len(wish.steps)
            trial.hands = [None] * len(wish.steps)
            for index, step in enumerate(wish.steps):
                self._begin(trial, index, step)
            self._assign()
            if wish.within is not None:
                self._alarm(trial, wish.within)
        else:
            self._alarm(trial, wish)

    def _alarm(self, trial: _Trial, seconds: float) -> None:
        heapq.heappush(self._alarms, (time.monotonic() + seconds, next(self._numbers), trial, trial.turn))

    def _begin(self, trial: _Trial, index: int, step: Order | Go | Await) -> None:
        if isinstance(step, Order):
            self._queue.append((trial, index, step))
            return
        trial.hands[index] = step.hand
        self._standing.discard(step.hand)
        if step.hand in self._early:  # it has ended by itself meanwhile
            self._told(trial, index, self._early.pop(step.hand))
            return
        self._working[step.hand] = (trial, index)
        if isinstance(step, Go):
            step.hand.go()

    def _assign(self) -> None:
        while self._queue and (self._idle or len(self._working) < self._size):
            trial, index, order = self._queue.popleft()
            hand = self._idle.pop() if self._idle else self._fork()
            self._working[hand] = (trial, index)
            trial.hands[index] = hand
            hand.order(order.do, order.given, order.death)

    def _fork(self) -> Hand:
        others = [*self._idle, *self._working, *self._standing]
        hand = Hand(self._commands, others=others)
        self._selector.register(hand.socket, selectors.EVENT_READ, hand)
        return hand

    def _turn(self) -> None:
        pause = self._alarms[0][0] - time.monotonic() if self._alarms else 5.0
        for key, _ in self._selector.select(max(0.0, min(pause, 5.0))):
            self._hear(key.data)
        while self._alarms and self._alarms[0][0] <= time.monotonic():
            _, _, trial, turn = heapq.heappop(self._alarms)
            if trial.turn == turn:
                self._ring(trial)
        self._assign()

    def _hear(self, hand: Hand) -> None:
        report = hand.hear()
        if report is None:
            return
        if report.how in {"died", "ended"}:
            self._selector.unregister(hand.socket)
            hand.socket.close()
            self._standing.discard(hand)
            if hand in self._idle:
                self._idle.remove(hand)
                return
        awaited = self._working.pop(hand, None)
        if report.how in {"stalled", "asks"}:
            self._standing.add(hand)
        elif report.how in {"done", "fault"}:
            self._idle.append(hand)
        if awaited is None:
            self._early[hand] = report
        else:
            self._told(*awaited, report)

    def _told(self, trial: _Trial, index: int, report: Report) -> None:
        trial.reports[index] = report
        if all(told is not None for told in trial.reports):
            self._proceed(trial, [told for told in trial.reports if told is not None])

    def _ring(self, trial: _Trial) -> None:
        """A sleep or a time limit is over."""
        reports: list[Report] = []
        for told, hand in zip(trial.reports, trial.hands, strict=True):
            if told is None and hand is None:  # not even begun for want of a hand: wait on
                self._alarm(trial, 0.05)
                return
            if told is None and hand is not None:
                self._working[hand] = None
                reports.append(Report(how="pending", hand=hand))
            elif told is not None:
                reports.append(told)
        trial.reports, trial.hands = [], []
        self._proceed(trial, reports)
