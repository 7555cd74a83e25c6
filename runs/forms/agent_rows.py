"""Fields of an input or a result as rows of a form: name, type, needed or not, label, and what is said of each.

What a row can't say (an enumeration, a limit, a nested object) stays in the schema as it was; a schema that is no list
of fields isn't shown as rows at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runs.forms import agent_typed, decisions
from runs.forms.agent_typed import Sent
from runs.forms.schemas import reading

INPUT, OUTPUT = "input", "output"
TYPES: Mapping[str, Mapping[str, Any]] = {
    "text": {"type": "string"},
    "whole": {"type": "integer"},
    "number": {"type": "number"},
    "yes": {"type": "boolean"},
    "date": {"type": "string", "format": "date"},
    "file": {"type": "object", "format": "file"},
    "texts": {"type": "array", "items": {"type": "string"}},
}
CHOICES = {
    INPUT: ("text", "whole", "number", "date", "file"),
    OUTPUT: ("text", "whole", "number", "yes", "date", "texts"),
}
MOST = 60
"""So many rows a form has; a schema with more of them stays in the YAML."""
_SAYS = frozenset({"type", "format", "items"})
_SHOWN = frozenset({*_SAYS, "title", "description"})
_LIST = frozenset({"type", "properties", "required", "additionalProperties"})


@dataclass(frozen=True, kw_only=True)
class Row:
    """One field; `was` is its name in the document, empty for a new one, and `more` what only the YAML says of it."""

    was: str = ""
    name: str = ""
    type: str = "text"
    title: str = ""
    said: str = ""
    needed: bool = False
    more: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Rows:
    """The rows of one schema, and what of the schema itself only the YAML says."""

    rows: tuple[Row, ...] = ()
    more: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A schema as it was sent (None for none), how many rows are new and empty, and what has a name of another row."""

    schema: Any
    empty: int = 0
    errors: Mapping[str, str] = field(default_factory=dict)


def shown(schema: Any) -> Rows | None:
    """Return a schema as rows, also that of nothing (None); None where it is no list of fields."""
    if schema is None:
        return Rows()
    if not isinstance(schema, Mapping) or schema.get("type", "object") != "object" or "$ref" in schema:
        return None
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not isinstance(required, list) or len(properties) > MOST:
        return None
    if not all(isinstance(one, str) for one in required):
        return None
    if not all(name and agent_typed.carried(name) and _listed(spec) for name, spec in properties.items()):
        return None
    rows = tuple(
        Row(
            was=name,
            name=name,
            type=_type(spec),
            title=spec.get("title", ""),
            said=spec.get("description", ""),
            needed=name in required,
            more=tuple(sorted(set(spec) - (_SHOWN if _type(spec) else {"title", "description"}))),
        )
        for name, spec in properties.items()
    )
    more = sorted(set(schema) - _LIST) + [f"required: {name}" for name in required if name not in properties]
    return Rows(rows=rows, more=tuple(more))


def take(schema: Any, which: str, sent: Sent, *, dropped: int = 0) -> Taken:
    """Return the schema with what was typed anew.

    `dropped` is the row that a button takes away, from 1. What was sent without rows leaves the schema as it was.
    """
    before = shown(schema)
    count = reading.last(sent, f"{which}-rows")
    if before is None or count is None:
        return Taken(schema=schema)
    known = {row.was: row for row in before.rows}
    sent_rows = [
        (number, _sent(which, number, sent)) for number in range(1, min(decisions.number(count), MOST) + 1)
    ]
    rows = [row for number, row in sent_rows if number != dropped]
    written = [row for row in rows if row.was or row.name or row.title or row.said]
    named = _named(written)
    gone = known.keys() - {row.was for row in written}
    same = all(_same(row, name, known.get(row.was)) for row, name in named)
    errors = {
        name_of(
            which, number, "name"
        ): f"Another field is named {row.name!r} already; this one became {name!r}."
        for number, (row, name) in enumerate(named, 1)
        if row.name and row.name != name
    }
    new = schema if not gone and same else _made(schema, named)
    return Taken(schema=new, empty=len(rows) - len(written), errors=errors)


def name_of(which: str, number: int, part: str) -> str:
    """Return the name of a control of a row."""
    return f"{which}-{number}-{part}"


def _sent(which: str, number: int, sent: Sent) -> Row:
    def text(name: str) -> str:
        return agent_typed.plain(reading.last(sent, name_of(which, number, name)) or "")

    return Row(
        was=text("was"),
        name=text("name").strip(),
        type=text("type"),
        title=text("title"),
        said=text("said"),
        needed=bool(text("needed")),
    )


def _same(row: Row, name: str, before: Row | None) -> bool:
    return before is not None and (
        (name, row.type, row.title, row.said, row.needed)
        == (
            before.name,
            before.type,
            agent_typed.plain(before.title),
            agent_typed.plain(before.said),
            before.needed,
        )
    )


def _named(rows: list[Row]) -> list[tuple[Row, str]]:
    """Return each row with its name: one without has it from its label, and no two have the same."""
    found: dict[str, Row] = {}
    for row in rows:
        own = row.name or re.sub(r"[^a-z0-9]+", "_", row.title.lower()).strip("_") or "field"
        name, again = own, 2
        while name in found:
            name, again = f"{own}_{again}", again + 1
        found[name] = row
    return [(row, name) for name, row in found.items()]


def _made(schema: Any, named: list[tuple[Row, str]]) -> Any:
    before: Mapping[str, Any] = (
        schema if schema is not None else {"type": "object", "additionalProperties": False}
    )
    old, needed = before.get("properties", {}), before.get("required", [])
    properties = {name: _spec(row, old.get(row.was) if row.was else None) for row, name in named}
    if not properties and not set(before) - _LIST:
        return None
    renamed = {row.was: (name, row.needed) for row, name in named if row.was}
    required = [renamed[name][0] for name in needed if name in renamed and renamed[name][1]]
    required += [name for name in needed if name not in old]
    required += [name for row, name in named if row.needed and name not in required]
    new = {**before, "properties": properties, "required": required}
    if not required and "required" not in before:
        del new["required"]
    return new


def _spec(row: Row, before: Mapping[str, Any] | None) -> dict[str, Any]:
    spec: dict[str, Any] = dict(before) if before is not None else {}
    if before is None or (row.type in TYPES and row.type != _type(before)):
        texts: dict[str, Any] = {name: spec[name] for name in ("title", "description") if name in spec}
        spec = {**TYPES.get(row.type, TYPES["text"]), **texts}
    for name, text in (("title", row.title), ("description", row.said)):
        if text != agent_typed.plain(spec.get(name, "")):
            agent_typed.put(spec, name, text.strip())
    return spec


def _listed(spec: Any) -> bool:
    return (
        isinstance(spec, Mapping)
        and agent_typed.carried(spec.get("title", ""))
        and agent_typed.carried(spec.get("description", ""), lines=True)
    )


def _type(spec: Mapping[str, Any]) -> str:
    """Return the type that a row can choose; an empty text for what only the YAML says."""
    says = {name: spec[name] for name in _SAYS if name in spec}
    if says in ({"format": "file"}, {"type": "string", "format": "file"}):
        return "file"
    return next((name for name, known in TYPES.items() if says == known), "")
