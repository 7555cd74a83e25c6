"""People and workers at the same moment: threads with connections of their own, let go all at once."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any
from unittest import mock

from django.conf import settings
from django.db import connection

from runs import hints, models, points, seed
from runs.engine import advance
from runs.providers import declared
from runs.transitions import decisions, refusals, starts
from runs.transitions.actor import Actor
from tests import factories
from tests.engine import world

AGENT = "crowd"
_numbers = itertools.count(1)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one of the crowd got: a result, or why it was refused; anything else is a fault."""

    name: str
    refused: str = ""
    fault: str = ""

    @property
    def won(self) -> bool:
        """Return whether it did what it wanted."""
        return not self.refused and not self.fault


class Crowd:
    """Some threads that each keep a connection, as the processes of a site do."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._pool = ThreadPoolExecutor(size)
        self._here = threading.Barrier(size)

    def at_once(self, acts: Sequence[tuple[str, Callable[[], Any]]]) -> list[Outcome]:
        """Return what came of the acts, in their order, all begun at the same moment: one for each thread."""
        assert len(acts) == self.size
        return list(self._pool.map(self._do, acts))

    def _do(self, given: tuple[str, Callable[[], Any]]) -> Outcome:
        name, act = given
        self._here.wait(120)
        try:
            act()
        except refusals.Refused as error:
            return Outcome(name=name, refused=error.message)
        except Exception as error:
            return Outcome(name=name, fault=f"{type(error).__name__}: {error}")
        return Outcome(name=name)

    def go_home(self) -> None:
        """Close every connection and end the threads."""
        self.at_once([("home", _close)] * self.size)
        self._pool.shutdown()


def _patient() -> None:
    """Let this thread wait for locks as long as a busy machine needs."""
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '60s'")


def _close() -> None:
    """Close the connection of the thread that calls this."""
    connection.close()


@contextmanager
def crowd(size: int) -> Iterator[Crowd]:
    """Give a crowd that goes home afterwards. Hints go nowhere: the test itself is the worker.

    Times are long: on a busy machine no lease may be over, and no effect too late, before the race is run.
    """
    made = Crowd(size)
    long = dict.fromkeys(
        ("LEASE", "HEARTBEAT", "SLICE", "READ_TIMEOUT", "EFFECT_TIMEOUT", "MODEL_TIMEOUT"), 120.0
    )
    with (
        mock.patch.object(hints, "_publish", return_value=False),
        mock.patch.dict(settings.CKPTSITE, long),
        mock.patch.object(world.Effect, "timeout", timedelta(seconds=120)),
    ):
        try:
            made.at_once([("patience", _patient)] * size)
            yield made
        finally:
            made.go_home()


def agent() -> None:
    """Register the agent of the races: one effect for each name of its input, all of them asked at once."""
    steps: list[dict[str, Any]] = [
        {
            "id": tool,
            "title": tool,
            "each": f"input.{tool}",
            "as": "row",
            "key": "row",
            "row_title": "Do ${row}",
            "tool": f"world.{tool}",
            "with": {"name": "${row}"},
            "required": False,
        }
        for tool in ("lookup", "unprotected", "allowed")
    ]
    seed.register(
        declared.Agent(
            name=AGENT,
            title="Crowd",
            provider="playbook",
            definition={"steps": [*steps, {"id": "end", "title": "End", "finish": {"summary": "Done."}}]},
            tools=factories.TOOLS,
            input_schema={"type": "object", "properties": {}},
        )
    )


def start(by: models.User, **effects: int) -> models.Run:
    """Return a new run with so many effects of each tool, each of its own name."""
    given = {
        tool: [f"{tool}-{next(_numbers)}" for _ in range(effects.get(tool, 0))]
        for tool in ("lookup", "unprotected", "allowed")
    }
    token = f"crowd-{next(_numbers)}"
    return starts.start_run(AGENT, input=given, title="", by=Actor(user=by), token=token)


def decide(review: models.Review, verdict: str, *, by: models.User, **more: Any) -> models.Decision:
    """Answer the review as it is in the caller's hands, under a token of its own."""
    given: dict[str, Any] = {
        "verdict": verdict,
        "revision": review.revision,
        "digest": review.digest,
        "evidence_number": review.evidence_number,
        "token": f"crowd-{next(_numbers)}",
        "reason": "as it should be",
    }
    return decisions.decide(review.pk, decisions.Answer(**(given | more)), by=Actor(user=by))


@contextmanager
def told_at(number: int, gate: threading.Event) -> Iterator[None]:
    """Open the gate when the process passes its nth point; it is open afterwards in any case."""
    passed = itertools.count(1)

    def reach(_name: str) -> None:
        if next(passed) == number:
            gate.set()

    points.arm(reach)
    try:
        yield
    finally:
        points.arm(None)
        gate.set()


def work(run: models.Run) -> models.Run:
    """Advance the run until it rests, is due later or has ended, as workers would; return it as it is then."""
    while advance.advance(run.pk):
        pass
    run.refresh_from_db()
    return run


def effects() -> int:
    """Return how many effects the world holds."""
    return len(world.World.effects())
