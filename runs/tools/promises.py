"""What a tool promises, as one text: what its contract's digest is of, and what two versions of it are compared by."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

import pydantic

from runs import exact


@lru_cache(maxsize=1024)
def digest(*promised: Any) -> str:
    """Return the digest of the text of what a tool promises; it is asked for at every call."""
    return exact.digest(text(*promised))


@lru_cache(maxsize=1024)
def text(
    name: str,
    version: int,
    effect: str,
    protection: str,
    tier: int,
    identity: tuple[str, ...] | None,
    decisive: tuple[str, ...],
    arguments: type[pydantic.BaseModel],
) -> str:
    """Return the canonical text of what a tool promises."""
    return exact.canonical(
        {
            "name": name,
            "version": version,
            "effect": effect,
            "protection": protection,
            "tier": tier,
            "identity": None if identity is None else list(identity),
            "decisive": list(decisive),
            "schema": _bare(schema(arguments)),
        }
    )


@cache
def schema(arguments: type[pydantic.BaseModel]) -> dict[str, Any]:
    """Return the JSON Schema of a tool's arguments."""
    return arguments.model_json_schema()


_PROSE = frozenset({"title", "description", "examples"})


def _bare(schema: Any, *, names: bool = False) -> Any:
    """Return a JSON Schema without what is only said to people; with `names` its keys are names, not its own words."""
    if isinstance(schema, list):
        return [_bare(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    return {
        key: _bare(value, names=not names and key in {"properties", "$defs"})
        for key, value in schema.items()
        if names or key not in _PROSE
    }
