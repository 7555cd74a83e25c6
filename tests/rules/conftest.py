"""The people, agents and world of the engine's tests."""

import itertools
from collections.abc import Callable
from typing import Any

import pytest

from runs import models
from runs.tools import handing
from runs.transitions import starts
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import fresh_world, operator, person, reviewer, start
from tests.rules.handing import agent

_numbers = itertools.count()
__all__ = ["fresh_world", "operator", "person", "reviewer", "start"]


@pytest.fixture
def who(transactional_db: None) -> factories.People:
    """One person of each role."""
    return factories.people()


@pytest.fixture
def begin(operator: models.User) -> Callable[..., models.Run]:
    """Start a run of an agent with these steps, which may hand work over."""

    def make(*steps: dict[str, Any], **more: Any) -> models.Run:
        over = tuple(step["tool"] for step in steps if step.get("tool", "").startswith(handing.PREFIX))
        name = agent(*steps, tools=tuple(dict.fromkeys(over)), **more)
        return starts.start_run(
            name,
            input={"what": "it"},
            title="A parent",
            by=Actor(user=operator),
            token=f"parent-{next(_numbers)}",
        )

    return make
