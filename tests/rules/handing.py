"""Agents that hand work over, for the rules and pages about it."""

from __future__ import annotations

import itertools
from typing import Any

from runs import models, seed
from runs.engine import clock
from runs.providers import declared
from runs.tools import handing
from tests.engine.conftest import go

_numbers = itertools.count()


def agent(*steps: dict[str, Any], tools: tuple[str, ...] = (), result: str = "", **more: Any) -> str:
    """Return the name of an agent that works through these steps."""
    name = f"handed-{next(_numbers)}"
    end = {"summary": "It is done.", **({"result": {"said": result}} if result else {})}
    seed.register(
        declared.Agent(
            name=name,
            title="Another agent",
            provider="playbook",
            definition={"steps": [*steps, {"id": "end", "title": "End", "finish": end}]},
            tools=(
                *("world." + tool for tool in ("look", "allowed", "unprotected", "lookup", "idempotent")),
                *tools,
            ),
            input_schema={"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]},
            **more,
        )
    )
    return name


def hands(name: str, subject: str = "letter 7", what: str = "it", **more: Any) -> dict[str, Any]:
    """Return the step that hands work to an agent."""
    return {
        "id": more.pop("id", "over"),
        "title": "Hand it over",
        "tool": handing.PREFIX + name,
        "with": {"subject": subject, "input": {"what": what}},
        **more,
    }


def child_of(run: models.Run) -> models.Run:
    """Return the newest attempt of the one piece of work that the run handed over."""
    return models.Run.objects.filter(parent=run).latest("pk")


def back(run: models.Run) -> models.Run:
    """Return the run after the clock has passed on what its children came to, and its next turn."""
    clock.tick()
    return go(run)


def only_action(run: models.Run) -> models.Action:
    """Return the run's one action."""
    return models.Action.objects.select_related("occurrence").get(run=run)
