"""The ways in which a schema lets a value be given, and which of them a value is given in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import jsonschemas
from runs.forms.schemas.fields import MISSING, As, Kind, Option, plain, same

MOST = 12
"""So many alternatives are offered; a schema with more is edited as JSON."""

_ANNOTATIONS = ("title", "description", "default", "examples", "deprecated", "readOnly")
_TYPES = ("object", "array", "string", "number", "integer", "boolean", "null")
_WORDS = {
    "string": "Text",
    "integer": "Whole number",
    "number": "Number",
    "boolean": "Yes or no",
    "object": "Object",
    "array": "List",
}


def resolved(schema: Any, root: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the schema with its reference followed; what can't be read takes anything."""
    if not isinstance(schema, Mapping):
        return {}
    found: dict[str, Any] = dict(schema)
    for _ in range(8):
        inner: Any = None
        if isinstance(found.get("$ref"), str):
            reference = found.pop("$ref")
            try:
                inner = jsonschemas.followed(root, reference)
            except jsonschemas.BadSchema:
                return {}
        elif isinstance(found.get("allOf"), list) and len(found["allOf"]) == 1:
            inner = found.pop("allOf")[0]
        if inner is None:
            return found
        if not isinstance(inner, Mapping):
            return {}
        found = {**inner, **found}
    return {}


def alternatives(
    schema: Mapping[str, Any], root: Mapping[str, Any], *, depth: int = 0
) -> list[Mapping[str, Any]]:
    """Return the schemas of which a value fits one: each of anyOf or oneOf, each of several types, or the schema."""
    found = resolved(schema, root)
    several = found.get("anyOf") or found.get("oneOf")
    plain = not ({"properties", "items", "enum", "const", "type"} & found.keys())
    if isinstance(several, list) and plain and depth < 5:
        kept = {name: found[name] for name in _ANNOTATIONS if name in found and name != "title"}
        each: list[Mapping[str, Any]] = [
            {**kept, **one}
            for item in several
            for one in alternatives(resolved(item, root), root, depth=depth + 1)
        ]
        return each if 0 < len(each) <= MOST else [{}]
    types = found.get("type")
    if isinstance(types, list) and types and "enum" not in found and "const" not in found:
        return [{**found, "type": one} for one in types]
    return [found]


def kind(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Kind:
    """Return how a value of this alternative is drawn."""
    if locked(schema):
        return Kind.FIXED
    if "const" in schema:
        return Kind.FIXED if schema["const"] is not None else Kind.NOTHING
    if isinstance(schema.get("enum"), list) and schema["enum"]:
        return Kind.CHOICE
    match schema.get("type"):
        case "null":
            return Kind.NOTHING
        case "string":
            return Kind.DATE if schema.get("format") == "date" else Kind.TEXT
        case "integer" | "number":
            return Kind.NUMBER
        case "boolean":
            return Kind.TICK
        case "object" if isinstance(schema.get("properties"), Mapping) and schema["properties"]:
            return Kind.GROUP
        case "array" if isinstance(schema.get("items"), Mapping) and "prefixItems" not in schema:
            return Kind.ROWS
    return Kind.JSON


def locked(schema: Mapping[str, Any]) -> bool:
    """Return whether nobody may change a value of this alternative: a file, or what its tool has declared so."""
    return is_file(schema) or schema.get("readOnly") is True


def is_file(schema: Mapping[str, Any]) -> bool:
    """Return whether the schema is that of a file by its content, which nobody types."""
    properties = schema.get("properties")
    return isinstance(properties, Mapping) and set(properties) == {"path", "sha256"}


def label(schema: Mapping[str, Any], drawn: Kind) -> str:
    """Return what an alternative is called."""
    if drawn == Kind.NOTHING:
        return "Nothing"
    if is_file(schema):
        return "File"
    if isinstance(schema.get("title"), str) and schema["title"].strip():
        return plain(schema["title"])
    if drawn == Kind.CHOICE:
        return "One of several"
    if drawn == Kind.FIXED and isinstance(schema.get("const"), str):
        return plain(schema["const"])
    return _WORDS.get(str(schema.get("type")), "JSON")


def options(
    each: list[Mapping[str, Any]], root: Mapping[str, Any], *, out: bool, null: bool, as_json: bool
) -> tuple[Option, ...]:
    """Return the ways to choose from; `null` among the alternatives is one of them."""
    found = [
        Option(value=str(at), label=label(one, kind(one, root)))
        for at, one in enumerate(each)
        if kind(one, root) != Kind.NOTHING
    ]
    labels = [option.label for option in found]
    found = [
        Option(value=option.value, label=f"{option.label} ({at + 1})")
        if labels.count(option.label) > 1
        else option
        for at, option in enumerate(found)
    ]
    if null:
        found.append(Option(value=As.NULL, label="Nothing (null)"))
    if out:
        found.append(Option(value=As.OUT, label="Left out"))
    if as_json:
        found.append(Option(value=As.JSON, label="Exact JSON"))
    return tuple(found)


def chosen(each: list[Mapping[str, Any]], root: Mapping[str, Any], value: Any) -> str:
    """Return the way in which this value is given."""
    if value is MISSING:
        return As.OUT
    fitting = [at for at, one in enumerate(each) if fits(one, root, value)]
    if value is None and any(kind(one, root) == Kind.NOTHING for one in each):
        return As.NULL
    if not fitting:
        return As.JSON
    closest = [at for at in fitting if _closely(each[at], root, value)]
    return str((closest or fitting)[0])


def fits(schema: Mapping[str, Any], root: Mapping[str, Any], value: Any) -> bool:
    """Return whether the control of this alternative can hold this value."""
    drawn = kind(schema, root)
    if is_file(schema):
        return isinstance(value, dict) and set(value) == {"path", "sha256"}
    if drawn == Kind.FIXED:
        return same(schema["const"], value) if "const" in schema else True
    match drawn:
        case Kind.CHOICE:
            return any(same(one, value) for one in schema["enum"])
        case Kind.NOTHING:
            return value is None
        case Kind.TEXT | Kind.DATE:
            return isinstance(value, str)
        case Kind.NUMBER:
            return isinstance(value, int | float) and not isinstance(value, bool)
        case Kind.TICK:
            return isinstance(value, bool)
        case Kind.GROUP:
            return isinstance(value, dict)
        case Kind.ROWS:
            return isinstance(value, list)
    return True


def _closely(schema: Mapping[str, Any], root: Mapping[str, Any], value: Any) -> bool:
    """Return whether a value that fits this alternative also has the parts that tell it from the others."""
    if schema.get("type") == "integer":
        return isinstance(value, int)
    if kind(schema, root) == Kind.JSON:
        return False
    if not isinstance(value, dict) or kind(schema, root) != Kind.GROUP:
        return True
    properties = schema["properties"]
    if not set(schema.get("required") or ()) <= set(value):
        return False
    if schema.get("additionalProperties") is False and not set(value) <= set(properties):
        return False
    return all(
        any(fits(one, root, value[name]) for one in alternatives(part, root))
        for name, part in properties.items()
        if name in value
    )
