"""A value that fits a schema, where nobody is asked: its default, its first choice or the plainest. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs import jsonschemas

DEEPEST = 8


class NoSample(ValueError):
    """No value was found that fits; there may be one."""


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One value, which may be null."""

    value: Any


def of(schema: Mapping[str, Any]) -> Sample:
    """Return a value that fits; refuse NoSample, and BadSchema for one that can't be used."""
    value = _of(schema, DEEPEST)
    if jsonschemas.problems(schema, value):
        raise NoSample("No value was found that fits the schema.")
    return Sample(value=value)


def _of(schema: Any, deep: int) -> Any:
    if not isinstance(schema, Mapping) or deep == 0:
        return None
    for name in ("default", "const"):
        if name in schema:
            return schema[name]
    for name in ("enum", "examples"):
        if schema.get(name):
            return schema[name][0]
    for name in ("oneOf", "anyOf"):
        if schema.get(name):
            return _of(schema[name][0], deep - 1)
    kind = schema.get("type")
    kind = kind[0] if isinstance(kind, list) and kind else kind
    match kind:
        case "object":
            known = schema.get("properties", {})
            return {name: _of(known.get(name, {}), deep - 1) for name in schema.get("required", ())}
        case "array":
            return [_of(schema.get("items", {}), deep - 1)] * int(schema.get("minItems", 0))
        case "string":
            plain = "x" * int(schema.get("minLength", 0))
            return _FORMATS.get(str(schema.get("format")), plain)
        case "integer" | "number":
            least = schema.get("minimum", schema.get("exclusiveMinimum", -1) + 1)
            return max(least, 0) if schema.get("maximum", 0) >= 0 else schema["maximum"]
        case "boolean":
            return True
    return None


_FORMATS = {
    "date": "2026-01-01",
    "time": "12:00:00",
    "date-time": "2026-01-01T12:00:00Z",
    "email": "nobody@example.org",
}
