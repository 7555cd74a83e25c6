"""How an installed app declares its agents: a list AGENTS of these in its `agents.py`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.apps import apps

PROJECT = re.compile(r"[A-Za-z0-9_-]{0,80}\Z")


@dataclass(frozen=True, kw_only=True)
class Agent:
    """One agent as its app declares it. A change of anything here becomes a new version; runs keep theirs.

    `input_schema` describes the start form: a JSON Schema object whose properties are texts, numbers, dates
    ("format": "date") or one file ("format": "file", kept by content).

    `budget` is what one run and its later attempts may use, `per_day` what all runs of the agent may use in a day:
    "steps", "calls", "tokens", "cost_micro" (millionths of a dollar) and "seconds" at work. What isn't named isn't
    limited.

    Agents with the same `project` belong together: people and groups can be limited to it. It is no part of a version.

    With `ordered` the calls of one reply are carried out, and asked about, one after the other; with `approve_plan`
    nothing starts before a person approved the plan.
    """

    name: str
    title: str
    provider: str
    definition: Mapping[str, Any]
    tools: tuple[str, ...]
    input_schema: Mapping[str, Any]
    model: str = ""
    project: str = ""
    instructions: str = ""
    per_day: Mapping[str, int] = field(default_factory=dict)
    ordered: bool = False
    approve_plan: bool = False
    budget: Mapping[str, int] = field(default_factory=lambda: {"steps": 200, "calls": 200})


def everywhere() -> list[Agent]:
    """Return the agents that installed apps declare as AGENTS in their `agents.py`."""
    found: list[Agent] = []
    for config in apps.get_app_configs():
        name = f"{config.name}.agents"
        if find_spec(name) is not None:
            found += getattr(import_module(name), "AGENTS", [])
    return found
