"""A worker is killed (kill -9) around a paid reply: at most one call more is paid, and no effect is doubled."""

from __future__ import annotations

import itertools
import os
import signal
import warnings
from typing import Any

import pytest
from django.db import connections

from runs import models, points
from runs.engine import advance, verifier
from tests import waiting
from tests.engine.test_unknown import expire_lease
from tests.engine.world import World
from tests.llm.conftest import Start, finish, go, plan
from tests.llm.wire import Say, Server
from tests.rules.test_8_lost_calls import notes

pytestmark = pytest.mark.django_db(transaction=True)


def killed_at(run: models.Run, point: str, *, time: int) -> None:
    """Let a process of its own advance the run, and die when it comes to the point for that time."""
    connections.close_all()
    with warnings.catch_warnings(
        action="ignore", category=DeprecationWarning
    ):  # the server is a thread of ours
        process = os.fork()
    if process == 0:
        times = itertools.count(1)
        points.arm(
            lambda name: (
                os.kill(os.getpid(), signal.SIGKILL) if name == point and next(times) == time else None
            )
        )
        try:
            for _ in range(50):
                advance.advance(run.pk)
        finally:
            os._exit(3)
    try:
        found = waiting.until(lambda: _ended(process), within=120, what=f"it is killed at {point}")
    except AssertionError:
        os.kill(process, signal.SIGKILL)  # it never came there
        raise
    assert found is not None
    assert os.WTERMSIG(found[1]) == signal.SIGKILL, found
    expire_lease(run)


def _ended(process: int) -> tuple[int, int] | None:
    found = os.waitpid(process, os.WNOHANG)
    return found if found[0] else None


def test_a_killed_worker_pays_once_more_at_most(server: Server, start: Start) -> None:
    """Before the call nothing is paid; with the reply in hand once more; after its commit never again."""

    def answer(body: dict[str, Any]) -> Say:
        turns = sum(message["role"] == "assistant" for message in body["messages"])
        turn: Say = [Say(calls=(plan("act"),)), Say(calls=(("world_allowed", {"name": name}),)), finish()][
            turns
        ]
        return turn

    server.otherwise = answer
    for name, point, paid, lost in (
        ("a", "model.before_call", 3, 1),
        ("b", "model.after_call", 4, 1),
        ("c", "reply.before_commit", 4, 1),
        ("d", "reply.after_commit", 3, 0),
        ("e", "effect.after_send", 2, 0),
    ):
        server.asked.clear()
        run = start()
        killed_at(run, point, time=1 if name == "e" else 2)  # at the reply that calls for the effect
        run = go(run)
        assert len(server.asked) == paid, point
        assert len(notes(run, "lost_call")) == lost, point
        assert len(World.effects(name)) == 1, point
        if name == "e":  # nobody can ask about it, so people are asked
            assert run.status == "waiting"
        else:
            assert run.status == "succeeded", (point, run.error)
    verifier.verify()
