"""The trajectories that are replayed, and the runs that replay them."""

from __future__ import annotations

import itertools
import uuid
from collections.abc import Sequence
from typing import Any

from django.contrib.auth.models import Group

from runs import models, seed
from runs.providers import declared
from runs.transitions import starts
from runs.transitions.actor import Actor
from tests.bench import tools

WIDTH = 50
"""Calls of one reply where many are released at once: as many as the engine takes."""

_process, _numbers = uuid.uuid4().hex[:8], itertools.count(1)
"""Several processes may start runs in one database."""


def singles(count: int, *, tool: type[tools.Named] = tools.Note, first: int = 0) -> list[dict[str, Any]]:
    """Return `count` replies of one call each, numbered from `first`."""
    return [_reply([tool], number) for number in range(first, first + count)]


def wide(count: int) -> list[dict[str, Any]]:
    """Return replies that together propose `count` effects, as many at once as may be."""
    return [_reply([tools.Note] * min(WIDTH, count - first), first) for first in range(0, count, WIDTH)]


def _reply(kinds: Sequence[type[tools.Named]], first: int) -> dict[str, Any]:
    return {
        "text": "Next.",
        "calls": [
            {"tool": kind.name, "arguments": {"name": f"item {number}"}, "label": f"call-{number}"}
            for number, kind in enumerate(kinds, start=first)
        ],
        "usage": {"tokens_in": 1200, "tokens_out": 40, "cost_micro": 900},
    }


def person(name: str) -> models.User:
    """Return an operator or a reviewer, made when there is none."""
    user, _ = models.User.objects.get_or_create(username=f"bench-{name}", defaults={"password": "!"})
    user.groups.set(Group.objects.filter(name=name))
    return user


def start(replies: list[dict[str, Any]], *, agent: str = "") -> models.Run:
    """Return a new run, due at once, that replays these replies: of this agent, or of one that is only its own."""
    number = next(_numbers)
    agent = agent or f"bench-{_process}-{number}"
    limit = 2 * sum(len(reply["calls"]) for reply in replies) + 100
    seed.register(
        declared.Agent(
            name=agent,
            title="Replay",
            provider="replay",
            definition={"replies": replies},
            tools=tuple(kind.name for kind in (tools.Look, tools.Note, tools.Send, tools.Hang)),
            input_schema={"type": "object", "properties": {}},
            budget={"steps": limit, "calls": limit},
        )
    )
    by = Actor(user=person("operator"))
    return starts.start_run(agent, input={}, title="Bench", by=by, token=f"bench-{_process}-{number}")
