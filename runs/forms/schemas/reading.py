"""From what a browser sent to fields, with everything that was typed, and with what a button of the form asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runs.forms.schemas import building, shapes, values
from runs.forms.schemas.building import Place, Schema
from runs.forms.schemas.fields import MISSING, As, Field, Kind

Sent = Mapping[str, Sequence[str]]

NOT_SENT = "This was not sent with the form; load the page again."


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What a button asks for, and of which field: add, remove, up, down, reset; none keeps all as it was typed."""

    verb: str = ""
    name: str = ""


def wish(text: str) -> Wish:
    """Return the wish that a button's value names."""
    verb, _, name = text.partition(":")
    return Wish(verb=verb, name=name)


def read(schema: Schema, sent: Sent, before: Any, *, asked: bool = False, act: str = "") -> Field:
    """Return the fields as they were sent; `before` is what the untouched form stands for."""
    place = Place(root=schema, asked=asked, before=before, label=building.ROOT_LABELS[asked])
    return _read(schema, sent, place, wish(act))


def _read(schema: Any, sent: Sent, place: Place, act: Wish) -> Field:
    if act.verb == "reset" and act.name == place.name:
        return building.field(schema, place.before, place)
    known = shapes.resolved(schema, place.root)
    each = shapes.alternatives(known, place.root)
    usual = building.first(each, place.root)
    shape = _way(sent, f"{place.name}:as", usual, each, place)
    was = _way(sent, f"{place.name}:was", shape, each, place)
    if shape in {As.OUT, As.NULL}:
        return building.shaped(schema, shape, MISSING, place)
    if shape != was and not _spare(was, sent, each, shape, place):
        return _turned(schema, sent, place, was, shape)
    found = building.shaped(schema, shape, MISSING, place)
    if shape == As.JSON:
        return _typed(found, sent, place)
    return _filled(found, each[int(shape)], sent, place, act)


def _way(sent: Sent, key: str, usual: str, each: list[Schema], place: Place) -> str:
    """Return the way that was chosen; one that this field doesn't have counts as the usual one."""
    given = last(sent, key)
    if given is None:
        return usual
    null = any(shapes.kind(one, place.root) == Kind.NOTHING for one in each)
    allowed = {str(at) for at, one in enumerate(each) if shapes.kind(one, place.root) != Kind.NOTHING} | {
        As.JSON
    }
    allowed |= {As.OUT} if place.optional or place.before is MISSING else set()
    allowed |= {As.NULL} if null else set()
    before = shapes.chosen(each, place.root, place.before)
    if before.isdigit() and shapes.locked(each[int(before)]):
        allowed = {before} | (allowed & {As.OUT, As.NULL})
    return given if given in allowed else usual


def _spare(was: str, sent: Sent, each: list[Schema], shape: str, place: Place) -> bool:
    """Return whether the control for the new way was on the page already, hidden beside the old one."""
    if was not in {As.OUT, As.NULL} or not shape.isdigit() or place.name not in sent:
        return False
    return building.kind(each[int(shape)], place) not in {Kind.GROUP, Kind.ROWS, Kind.FIXED}


def _turned(schema: Any, sent: Sent, place: Place, was: str, shape: str) -> Field:
    """Return the field given in another way than it was drawn, with its old value where that fits."""
    each = shapes.alternatives(shapes.resolved(schema, place.root), place.root)
    old = _read(schema, {**sent, f"{place.name}:as": [was], f"{place.name}:was": [was]}, place, Wish())
    known = values.result(old)
    value = MISSING if known.errors else known.value
    if shape.isdigit() and (value is MISSING or not shapes.fits(each[int(shape)], place.root, value)):
        value = building.initial(each[int(shape)], place.root)
    return replace(building.shaped(schema, shape, value, replace(place, new=True)), fresh=True)


def _filled(found: Field, schema: Schema, sent: Sent, place: Place, act: Wish) -> Field:
    match found.kind:
        case Kind.GROUP:
            return replace(found, parts=_group(schema, sent, place, act))
        case Kind.ROWS:
            return _rows(found, schema, sent, place, act)
        case Kind.FIXED:
            return replace(found, fixed=schema.get("const", place.before))
        case Kind.TEXT | Kind.LINES | Kind.DATE:
            given = last(sent, place.name)
            if given is None:
                return replace(found, error=NOT_SENT)
            return building.drawn(found, schema, given, place)
        case Kind.TICK | Kind.CHOICE:
            return replace(found, text=last(sent, place.name) or "")
    return _typed(found, sent, place)


def _typed(found: Field, sent: Sent, place: Place) -> Field:
    given = last(sent, place.name)
    return replace(found, error=NOT_SENT) if given is None else replace(found, text=given)


def _group(schema: Schema, sent: Sent, place: Place, act: Wish) -> tuple[Field, ...]:
    found = [
        _read(part, sent, building.part_of(schema, at, name, place), act)
        for at, name, part in building.ordered(schema, place)
    ]
    rest = last(sent, f"{place.name}-x")
    if rest is None:
        return tuple(found)
    known = place.before if isinstance(place.before, Mapping) else {}
    before = {name: item for name, item in known.items() if name not in schema["properties"]}
    field = building.other(before, place)
    if act == Wish(verb="reset", name=field.name):
        return (*found, field)
    return (*found, replace(field, text=rest))


def _rows(found: Field, schema: Schema, sent: Sent, place: Place, act: Wish) -> Field:
    given = sent.get(f"{place.name}:rows")
    if given is None:
        return replace(found, error=NOT_SENT)
    tokens = list(dict.fromkeys(token for token in given if _is_token(token)))[: 2 * building.MOST_ROWS]
    tokens = _moved(tokens, place.name, act)
    new = ""
    if act == Wish(verb="add", name=place.name) and building.grows(schema, place.root):
        new = f"n{1 + max((int(token[1:]) for token in tokens if token[0] == 'n'), default=0)}"
        tokens.append(new)
    rows = tuple(
        building.row(
            schema["items"],
            building.initial(schema["items"], place.root),
            replace(place, new=True),
            token,
            at,
        )
        if token == new
        else _read(schema["items"], sent, building.row_of(place, token, at), act)
        for at, token in enumerate(tokens)
    )
    return replace(found, parts=rows)


def _moved(tokens: list[str], name: str, act: Wish) -> list[str]:
    """Return the rows in the order that the button asks for, or without the one that it removes."""
    parent, _, token = act.name.rpartition("-")
    if parent != name or token not in tokens:
        return tokens
    at = tokens.index(token)
    match act.verb:
        case "remove":
            return [one for one in tokens if one != token]
        case "up" if at:
            tokens[at - 1], tokens[at] = token, tokens[at - 1]
        case "down" if at + 1 < len(tokens):
            tokens[at + 1], tokens[at] = token, tokens[at + 1]
    return tokens


def _is_token(text: str) -> bool:
    digits = text.removeprefix("n")
    return digits.isascii() and digits.isdigit() and len(digits) < 6


def last(sent: Sent, key: str) -> str | None:
    """Return the text of a control as it was typed: browsers send every line break as two characters."""
    given = sent.get(key)
    return given[-1].replace("\r\n", "\n").replace("\r", "\n") if given else None


def focus(verb: str, place: str, fields: Field) -> str:
    """Return the control to go to once a button has changed the form."""
    known = {part.name: part for part in fields.every()}
    found = known.get(place)
    if verb == "tab" or found is None:
        return place.rpartition("-")[0] if verb == "remove" else "tab" if verb == "tab" else ""
    if verb == "add" and found.parts:
        found = found.parts[-1]
    while found.parts and found.kind in {Kind.GROUP, Kind.ROWS}:
        found = found.parts[0]
    return found.name
