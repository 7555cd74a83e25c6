"""How an installed app declares its agents: a list AGENTS of these in its `agents.py`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Agent:
    """One agent as its app declares it. A change of anything here becomes a new version; runs keep theirs.

    `input_schema` describes the start form: a JSON Schema object whose properties are texts, numbers, dates
    ("format": "date") or one file ("format": "file", kept by content).
    """

    name: str
    title: str
    provider: str
    definition: Mapping[str, Any]
    tools: tuple[str, ...]
    input_schema: Mapping[str, Any]
    model: str = ""
    instructions: str = ""
    budget: Mapping[str, int] = field(default_factory=lambda: {"steps": 200, "calls": 200})
