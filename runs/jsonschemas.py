"""Values and their JSON Schemas: what doesn't fit, place by place, and which schemas may be taken from outside. Pure.

Nothing is fetched, and a pattern is matched in linear time: a schema may come from a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import jsonschema
import pydantic
import referencing
from jsonschema import validators
from jsonschema.protocols import Validator
from pydantic_core import SchemaError

from runs import exact

MOST_NODES = 500
"""So many parts may a schema from outside have, with each reference followed."""

LARGEST = 20_000
"""So many bytes may a schema from outside have."""

MOST_PATTERNS = 20
"""So many different patterns: one of them may take 10 MB and half a second to get ready."""

_REFUSED = ("patternProperties", "$dynamicRef", "$recursiveRef")


class BadSchema(ValueError):
    """This schema can't be used; one sentence."""


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that doesn't fit: where, and one sentence."""

    path: tuple[str | int, ...]
    sentence: str


def problems(schema: Mapping[str, Any], value: Any) -> tuple[Problem, ...]:
    """Return what of the value doesn't fit the schema; refuse (BadSchema) one that can't be used."""
    try:
        found = sorted(
            _validator(exact.canonical(schema)).iter_errors(value), key=lambda error: error.json_path
        )
        return tuple(Problem(path=tuple(error.absolute_path), sentence=_sentence(error)) for error in found)
    except (
        exact.NotExact,
        jsonschema.SchemaError,
        referencing.exceptions.Unresolvable,
        RecursionError,
    ) as error:
        raise BadSchema(f"The schema can't be used: {str(error).splitlines()[0]}") from error


def check(schema: Any) -> None:
    """Refuse (BadSchema) a schema from outside that isn't one, is too large, or refers to itself or to elsewhere."""
    if not isinstance(schema, Mapping):
        raise BadSchema("the schema must be an object.")
    size = len(exact.canonical(schema))
    if size > LARGEST:
        raise BadSchema(f"the schema has {size:,} bytes; the limit is {LARGEST:,}.")
    try:
        jsonschema.Draft202012Validator.check_schema(schema, format_checker=None)
    except jsonschema.SchemaError as error:
        raise BadSchema(f"the schema is none: {error.message}.") from error
    patterns: set[str] = set()
    _walk(schema, schema, (), [0], patterns)
    if len(patterns) > MOST_PATTERNS:
        raise BadSchema(f"the schema has {len(patterns)} patterns; the limit is {MOST_PATTERNS}.")
    for pattern in sorted(patterns):
        _pattern(pattern)


def followed(root: Mapping[str, Any], reference: str) -> Any:
    """Return what a reference within the schema points to; refuse (BadSchema) any other."""
    if not reference.startswith("#"):
        raise BadSchema(f"{reference!r} is not a place in this schema.")
    found: Any = root
    for part in reference[1:].split("/")[1:]:
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and name in found:
            found = found[name]
        elif isinstance(found, list) and name.isdigit() and int(name) < len(found):
            found = found[int(name)]
        else:
            raise BadSchema(f"there is nothing at {reference!r} in this schema.")
    return found


def _walk(
    root: Mapping[str, Any], node: Any, above: tuple[str, ...], count: list[int], patterns: set[str]
) -> None:
    count[0] += 1
    if count[0] > MOST_NODES:
        raise BadSchema(f"the schema has more than {MOST_NODES} parts.")
    if isinstance(node, list):
        for item in node:
            _walk(root, item, above, count, patterns)
    if not isinstance(node, Mapping):
        return
    for name in _REFUSED:
        if name in node:
            raise BadSchema(f"{name} is not supported here.")
    reference = node.get("$ref")
    if isinstance(reference, str):
        if reference in above:
            raise BadSchema(f"the schema refers to itself: {reference!r}.")
        _walk(root, followed(root, reference), (*above, reference), count, patterns)
    pattern = node.get("pattern")
    if isinstance(pattern, str):
        patterns.add(pattern)
    for name, item in node.items():
        if name not in {"$defs", "definitions", "default", "examples", "const", "enum"}:
            _walk(root, item, above, count, patterns)


@lru_cache(maxsize=MOST_PATTERNS)
def _pattern(pattern: str) -> pydantic.TypeAdapter[str]:
    """Return what matches texts with this pattern, in linear time; refuse (BadSchema) one that can't be."""
    try:
        return pydantic.TypeAdapter(pydantic.constr(pattern=pattern))
    except (SchemaError, UnicodeError) as error:
        raise BadSchema(f"the pattern {pattern!r} can't be matched.") from error


def _matches(
    validator: Any, pattern: str, instance: Any, schema: Any
) -> Iterator[jsonschema.ValidationError]:
    if not isinstance(instance, str):
        return
    try:
        _pattern(pattern).validate_python(instance)
    except (pydantic.ValidationError, UnicodeError):
        yield jsonschema.ValidationError(f"{instance!r} does not match {pattern!r}")


def _multiple(validator: Any, of: Any, instance: Any, schema: Any) -> Iterator[jsonschema.ValidationError]:
    """A number so large that no float holds it is no multiple of a fraction, instead of an error."""
    if isinstance(instance, bool) or not isinstance(instance, int | float):
        return
    try:
        whole = (
            instance % of == 0 if isinstance(of, int) else math.isclose(round(instance / of) * of, instance)
        )
    except OverflowError:
        whole = False
    if not whole:
        yield jsonschema.ValidationError("is not a multiple")


_CHECKS: dict[str, Any] = {"pattern": _matches, "multipleOf": _multiple}


_FORMATS_CHECKED = jsonschema.FormatChecker(formats=())
for _name, _check in jsonschema.Draft202012Validator.FORMAT_CHECKER.checkers.items():
    if _name != "regex":  # Python's, which takes its time, and raises what it likes
        _FORMATS_CHECKED.checkers[_name] = _check


@lru_cache(maxsize=64)
def _validator(text: str) -> Validator:
    kind = validators.extend(jsonschema.Draft202012Validator, _CHECKS)
    schema = exact.stored(text)
    kind.check_schema(schema, format_checker=None)
    made: Validator = kind(schema, registry=referencing.Registry(), format_checker=_FORMATS_CHECKED)
    return made


def _sentence(error: jsonschema.ValidationError) -> str:
    """Return what is wrong, in words for the person who typed it."""
    limit = error.validator_value
    match error.validator:
        case "required":
            return f"{error.message.split(' is a ')[0]} is missing."
        case "minLength":
            return (
                "This is empty." if not error.instance else f"This is too short: at least {limit} characters."
            )
        case "maxLength":
            return f"This is too long: {len(error.instance):,} characters; at most {limit:,} are taken."
        case "minimum":
            return f"At least {limit}."
        case "maximum":
            return f"At most {limit}."
        case "exclusiveMinimum":
            return f"More than {limit}."
        case "exclusiveMaximum":
            return f"Less than {limit}."
        case "multipleOf":
            return f"A multiple of {limit}."
        case "minItems":
            return f"At least {limit} {'row' if limit == 1 else 'rows'}."
        case "maxItems":
            return f"At most {limit} {'row' if limit == 1 else 'rows'}."
        case "uniqueItems":
            return "Two rows are the same."
        case "pattern":
            return f"This doesn't have the form that is asked for: {limit}"
        case "format":
            return f"This is no {_FORMATS.get(str(limit), str(limit))}."
        case "enum" | "const":
            return "Choose one of the values."
        case "type":
            wanted = limit if isinstance(limit, list) else [limit]
            return f"This must be {' or '.join(_TYPES.get(str(one), str(one)) for one in wanted)}."
        case "additionalProperties" | "unevaluatedProperties":
            return f"{error.message[:1].upper()}{error.message[1:200]}."
        case "anyOf" | "oneOf":
            return "This fits none of the ways in which it can be given."
    return f"{error.message[:1].upper()}{error.message[1:200]}."


_TYPES = {
    "string": "a text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "yes or no",
    "object": "an object",
    "array": "a list",
    "null": "nothing",
}
_FORMATS = {
    "date": "date, such as 2026-11-30",
    "date-time": "time with its zone, such as 2026-11-30T16:00:00Z",
    "time": "time of day, such as 16:00:00Z",
    "email": "e-mail address",
    "uri": "address, such as https://example.org/",
    "uuid": "UUID",
    "ipv4": "IPv4 address",
    "ipv6": "IPv6 address",
}
