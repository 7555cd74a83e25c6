"""The value that fields stand for, and what of them stands for none."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from runs import exact, jsonschemas
from runs.forms.schemas.fields import MISSING, As, Field, Kind, Missing, Path, same

_NUMBER = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?\Z")
SEE_FIRST = "This part is new: look at it, fill it in, and send the form again."


@dataclass(frozen=True, kw_only=True)
class Result:
    """The value, or by the name of its field one sentence for each that stands for none."""

    value: Any = MISSING
    errors: dict[str, str] = field(default_factory=dict)


def result(root: Field) -> Result:
    """Return the value of the fields, with every sentence about what isn't one."""
    errors: dict[str, str] = {}
    value = _value(root, errors)
    if value is MISSING and not errors:
        errors[root.name] = "This is empty."
    return Result(value=MISSING if errors else value, errors=errors)


def checked(root: Field, schema: Mapping[str, Any]) -> Result:
    """Return the value of the fields if it fits the schema, else what doesn't fit."""
    found = result(root)
    if found.errors:
        return found
    problems = jsonschemas.problems(schema, found.value)
    return replace(found, errors=placed(root, [(problem.path, problem.sentence) for problem in problems]))


def placed(root: Field, problems: Sequence[tuple[Path, str]]) -> dict[str, str]:
    """Return the sentences by the name of the field that each is about: the nearest one that is drawn."""
    found: dict[str, str] = {}
    for path, sentence in problems:
        found.setdefault(_nearest(root, path).name, sentence)
    return found


def listed(root: Field, errors: Mapping[str, str]) -> dict[str, str]:
    """Return the sentences for a summary, by the name of the field, each with the field's label."""
    labels = {part.name: part.label for part in root.every()}
    return {
        name: f"{labels[name]}: {sentence}" if labels.get(name) else sentence
        for name, sentence in errors.items()
    }


def marked(root: Field, errors: Mapping[str, str]) -> Field:
    """Return the fields with these sentences beside them, and with the mark of what differs from before."""
    spare = root.kind in {Kind.OUT, Kind.NOTHING}
    parts = root.parts if spare else tuple(marked(part, errors) for part in root.parts)
    found = replace(root, parts=parts, error=errors.get(root.name, root.error))
    return replace(found, edited=_edited(found))


def _edited(field: Field) -> bool:
    errors: dict[str, str] = {}
    value = _value(field, errors)
    if errors:
        return True
    return not same(value, field.before)


def _nearest(root: Field, path: Path) -> Field:
    """Return the field at this path; parts of it without a field (the name of an alternative) are passed over."""
    found = root
    for key in path:
        found = next((part for part in found.parts if not part.rest and part.path[-1:] == (key,)), found)
    return found


def _value(field: Field, errors: dict[str, str]) -> Any:
    if field.error and field.kind != Kind.OUT:
        errors[field.name] = field.error
    if field.fresh:
        errors[field.name] = SEE_FIRST
    match field.kind:
        case Kind.OUT:
            return MISSING
        case Kind.NOTHING:
            return None
        case Kind.FIXED:
            return field.fixed
        case Kind.GROUP:
            return _object(field, errors)
        case Kind.ROWS if not field.parts and field.empty == As.OUT:
            return MISSING
        case Kind.ROWS:
            return [_value(part, errors) for part in field.parts]
    if field.text == "" and field.empty:
        return {As.OUT: MISSING, As.NULL: None}[field.empty]
    match field.kind:
        case Kind.TEXT | Kind.LINES | Kind.DATE:
            if field.needed and not field.text:
                errors[field.name] = "This is empty."
            return field.text
        case Kind.NUMBER:
            return _number(field, errors)
        case Kind.TICK:
            if field.text not in {"true", "false"}:
                errors[field.name] = "Choose yes or no."
            return field.text == "true"
        case Kind.CHOICE:
            return _choice(field, errors)
    return _json(field, errors)


def _object(field: Field, errors: dict[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for part in field.parts:
        value = _value(part, errors)
        if part.rest and isinstance(value, dict):
            twice = sorted(found.keys() & value.keys())
            if twice:
                errors[part.name] = f"{twice[0]!r} has a field of its own."
            found |= value
        elif part.rest:
            errors.setdefault(part.name, "This must be an object: {…}.")
        elif not isinstance(value, Missing):
            found[str(part.path[-1])] = value
    return found


def _number(field: Field, errors: dict[str, str]) -> int | float:
    text = field.text.strip()
    try:
        if not _NUMBER.match(text):
            raise exact.NotExact("no number")
        found: int | float = exact.parse(text)
    except exact.NotExact:
        comma = "," in text and _NUMBER.match(text.replace(",", "."))
        errors[field.name] = (
            "Write it with a point, not with a comma." if comma else "Write a number, such as 12 or 12.50."
        )
        if not text:
            errors[field.name] = "This is empty."
        return 0
    return found


def _choice(field: Field, errors: dict[str, str]) -> Any:
    known = field.schema["enum"]
    if field.text.isascii() and field.text.isdigit() and len(field.text) < 6 and int(field.text) < len(known):
        return known[int(field.text)]
    errors[field.name] = "Choose one."
    return None


def _json(field: Field, errors: dict[str, str]) -> Any:
    try:
        return exact.parse(field.text)
    except exact.NotExact as error:
        errors[field.name] = str(error) if field.text.strip() else "This is empty; write JSON."
    return None
