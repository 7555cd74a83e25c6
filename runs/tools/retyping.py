"""What a person types again before something final is released."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs.tools import undo
from runs.tools.contract import Tool

FINAL = 3


def asked(tool: Tool, args: Any, tier: int) -> Mapping[str, str] | None:
    """Return the decisive value that must be typed again at the highest tier; for an undo that of what was done."""
    if isinstance(tool, undo.Undo):
        tool, args = tool.of, args.arguments
    if tier < FINAL or not tool.decisive:
        return None
    field = tool.decisive[0]
    return {"field": field, "value": str(args.model_dump(mode="json")[field])}
