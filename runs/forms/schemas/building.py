"""From a schema and a value to the fields that show it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from runs import exact
from runs.forms.schemas import labels, shapes
from runs.forms.schemas.fields import (
    MISSING,
    As,
    Field,
    Kind,
    Missing,
    Option,
    Path,
    carried,
    plain,
    same,
    shown,
)

ROOT = "a"
ROOT_LABELS = {True: "Your answer", False: "Arguments"}
DEEPEST = 8
MOST_ROWS = 50
MOST_FIELDS = 300
"""What is larger is edited as JSON: a form of a thousand controls helps nobody."""

Schema = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Place:
    """Where a field stands: its control's name, its path, and what its surroundings say about it."""

    root: Schema
    name: str = ROOT
    path: Path = ()
    label: str = ""
    optional: bool = False  # it may be left out
    depth: int = 0
    asked: bool = False  # an answer is asked for: what is left empty is left out
    token: str = ""
    before: Any = MISSING  # what stood here before anybody changed it
    new: bool = False  # it is being added: what is needed is there, empty

    def below(
        self, part: str, key: str | int, label: str, *, before: Any = MISSING, optional: bool = False
    ) -> Place:
        """Return the place of one part of the field here."""
        return replace(
            self, name=f"{self.name}-{part}", path=(*self.path, key), label=label, optional=optional,
            depth=self.depth + 1, token="", before=before,
        )  # fmt: skip


def build(schema: Schema, value: Any, *, asked: bool = False, before: Any = None) -> Field:
    """Return the fields of a value; with too many of them all of it is edited as JSON.

    `before` is what it was before somebody changed it, where that isn't the value itself.
    """
    old = MISSING if asked else value if before is None else before
    place = Place(root=schema, asked=asked, before=old, label=ROOT_LABELS[asked])
    found = field(schema, value, place)
    if sum(1 for _ in found.every()) > MOST_FIELDS:
        return shaped(schema, As.JSON, value, place)
    return found


def blank(schema: Schema) -> Field:
    """Return the fields of an answer that nobody has given yet: with the schema's defaults, or empty."""
    return build(schema, initial(schema, schema), asked=True)


def initial(schema: Any, root: Schema, *, depth: int = 0) -> Any:
    """Return what a new value begins as; MISSING where it has to be typed."""
    found = shapes.resolved(schema, root)
    if "default" in found:
        return found["default"]
    one = shapes.alternatives(found, root)[0]
    if "default" in one:
        return one["default"]
    match shapes.kind(one, root):
        case Kind.FIXED if "const" in one:
            return one["const"]
        case Kind.ROWS:
            least = one.get("minItems", 0)
            rows = least if isinstance(least, int) and least <= MOST_ROWS and depth < DEEPEST else 0
            return [initial(one["items"], root, depth=depth + 1) for _ in range(rows)]
        case Kind.GROUP if depth < DEEPEST:
            needed = one.get("required") or ()
            return {
                name: initial(part, root, depth=depth + 1)
                for name, part in one["properties"].items()
                if name in needed or "default" in shapes.resolved(part, root)
            }
    return MISSING


def field(schema: Any, value: Any, place: Place) -> Field:
    """Return the field of one value at its place; what is asked for and not given yet is an empty control."""
    known = shapes.resolved(schema, place.root)
    each = shapes.alternatives(known, place.root)
    shape = shapes.chosen(each, place.root, value)
    needed = not place.optional and (place.asked or place.new)
    if value is MISSING and (needed or empty_means(known, each, place) == As.OUT):
        shape = first(each, place.root)
    elif value is None and empty_means(known, each, place) == As.NULL and shape == As.NULL:
        shape, value = first(each, place.root), MISSING
    lost = isinstance(value, str) and not (carried(value) and (value or not empty_means(known, each, place)))
    if lost and shape.isdigit():
        how = shapes.kind(each[int(shape)], place.root)
        shape = As.JSON if how in {Kind.TEXT, Kind.DATE} else shape
    return shaped(schema, shape, value, place)


def first(each: list[Schema], root: Schema) -> str:
    """Return the first way in which a value can be given that isn't null."""
    return next((str(at) for at, one in enumerate(each) if shapes.kind(one, root) != Kind.NOTHING), As.NULL)


def empty_means(known: Schema, each: list[Schema], place: Place) -> str:
    """Return what an empty control of this field means, where that can only be one thing."""
    leaves_out = place.optional and (place.asked or "default" not in known)
    kinds = [shapes.kind(one, place.root) for one in each]
    null = Kind.NOTHING in kinds
    real = [kind for kind in kinds if kind != Kind.NOTHING]
    if len(real) != 1:
        return ""
    if real[0] in {Kind.NUMBER, Kind.DATE, Kind.CHOICE} and null != leaves_out:
        return As.NULL if null else As.OUT
    if real[0] in {Kind.TEXT, Kind.ROWS} and place.asked and place.optional and not null:
        return As.OUT
    return ""


def shaped(schema: Any, shape: str, value: Any, place: Place) -> Field:
    """Return the field with its value given in this way; MISSING leaves the control empty."""
    known = shapes.resolved(schema, place.root)
    each = shapes.alternatives(known, place.root)
    null = any(shapes.kind(one, place.root) == Kind.NOTHING for one in each)
    empty = empty_means(known, each, place)
    out = shape == As.OUT or (place.optional and empty != As.OUT and (place.asked or "default" not in known))
    found = Field(
        name=place.name,
        path=place.path,
        label=labels.label(known, place.label),
        hint=str(known.get("description") or ""),
        kind=Kind.JSON,
        schema=known,
        shape=shape,
        shapes=shapes.options(
            each, place.root, out=out, null=null and empty != As.NULL, as_json=shape == As.JSON
        ),
        needed=place.asked and not place.optional,
        empty=empty,
        token=place.token,
        before=place.before,
    )
    match shape:
        case As.OUT:
            return _hidden(replace(found, kind=Kind.OUT), each, place)
        case As.NULL:
            return _hidden(replace(found, kind=Kind.NOTHING), each, place)
        case As.JSON:
            return replace(found, kind=Kind.JSON, text="" if value is MISSING else shown(value))
    return drawn(found, each[int(shape)], value, place)


def _hidden(found: Field, each: list[Schema], place: Place) -> Field:
    """Return a field without a value, with the control that shows when its other way is chosen."""
    only = [one for one in each if shapes.kind(one, place.root) != Kind.NOTHING]
    if len(only) != 1 or shapes.kind(only[0], place.root) in {Kind.GROUP, Kind.ROWS, Kind.FIXED}:
        return found
    spare = drawn(replace(found, shapes=()), only[0], MISSING, place)
    return replace(found, parts=(replace(spare, name=place.name, path=place.path, shapes=()),))


def kind(schema: Schema, place: Place) -> Kind:
    """Return how a value of this alternative is drawn here."""
    known = shapes.kind(schema, place.root)
    return Kind.JSON if place.depth >= DEEPEST and known in {Kind.GROUP, Kind.ROWS} else known


def drawn(found: Field, schema: Schema, value: Any, place: Place) -> Field:
    """Return the field with the control of this alternative, holding the value; MISSING leaves it empty."""
    how = kind(schema, place)
    hint = found.hint or str(schema.get("description") or "")
    found = replace(
        found,
        kind=how,
        schema=schema,
        hint=labels.FILE if shapes.is_file(schema) else labels.hint(hint, schema, how),
    )
    given = not isinstance(value, Missing)
    match how:
        case Kind.TEXT | Kind.DATE:
            text = value if given else ""
            lines = how == Kind.TEXT and ("\n" in text or len(text) > labels.LONG or labels.long(schema))
            odd = how == Kind.DATE and text and not labels.is_date(text)
            return replace(
                found,
                text=text,
                kind=Kind.LINES if lines else Kind.TEXT if odd else how,
                input=labels.keyboard(schema),
            )
        case Kind.NUMBER:
            whole = schema.get("type") == "integer"
            return replace(
                found, text=exact.canonical(value, limit=None) if given else "",
                input="numeric" if whole else "decimal",
            )  # fmt: skip
        case Kind.TICK:
            text = ("true" if value else "false") if given else ""
            return replace(found, text=text)
        case Kind.CHOICE:
            options = tuple(
                Option(value=str(at), label=plain(one) if isinstance(one, str) and one else json.dumps(one))
                for at, one in enumerate(schema["enum"])
            )
            at = next((str(at) for at, one in enumerate(schema["enum"]) if given and same(one, value)), "")
            return replace(found, text=at, options=options)
        case Kind.FIXED:
            return replace(found, fixed=value if given else schema.get("const", MISSING))
        case Kind.GROUP:
            return replace(found, parts=_parts(schema, value if given else {}, place))
        case Kind.ROWS:
            return _rows(found, schema, value if given else [], place)
        case Kind.JSON:
            return replace(found, text=shown(value) if given else "")
    return found


def _parts(schema: Schema, value: Mapping[str, Any], place: Place) -> tuple[Field, ...]:
    found = [
        field(part, value.get(name, MISSING), part_of(schema, at, name, place))
        for at, name, part in ordered(schema, place)
    ]
    rest = {name: item for name, item in value.items() if name not in schema["properties"]}
    return (*found, other(rest, place)) if rest else tuple(found)


def ordered(schema: Schema, place: Place) -> list[tuple[int, str, Any]]:
    """Return the properties with their numbers: stored JSON keeps no order, so what is needed comes first."""
    found = [(at, name, part) for at, (name, part) in enumerate(schema["properties"].items())]
    needed = [name for name in schema.get("required") or () if isinstance(name, str)]
    if not place.asked:
        return found
    return sorted(found, key=lambda one: needed.index(one[1]) if one[1] in needed else len(needed))


def part_of(schema: Schema, at: int, name: str, place: Place) -> Place:
    """Return the place of one property of the object here."""
    before = place.before.get(name, MISSING) if isinstance(place.before, Mapping) else MISSING
    optional = name not in (schema.get("required") or ())
    return place.below(str(at), name, name, before=before, optional=optional)


def other(rest: Mapping[str, Any], place: Place) -> Field:
    """Return the field of the entries that the schema doesn't name."""
    below = place.below("x", "", "Further entries")
    text = shown(dict(rest))
    return Field(
        name=below.name, path=place.path, label=below.label, kind=Kind.JSON, schema={"type": "object"}, text=text,
        rest=True, shape=As.JSON, hint="What the schema doesn't name.", before=dict(rest),
    )  # fmt: skip


def _rows(found: Field, schema: Schema, value: list[Any], place: Place) -> Field:
    if len(value) > MOST_ROWS:
        return replace(found, kind=Kind.JSON, shape=As.JSON, text=shown(value), shapes=(
            *(option for option in found.shapes if option.value != As.JSON), Option(value=As.JSON, label="Exact JSON"),
        ))  # fmt: skip
    rows = tuple(row(schema["items"], item, place, str(at), at) for at, item in enumerate(value))
    return replace(found, parts=rows, growing=grows(schema, place.root))


def grows(schema: Schema, root: Schema) -> bool:
    """Return whether rows can be added: what nobody may type can't be made anew."""
    each = shapes.alternatives(shapes.resolved(schema["items"], root), root)
    return any(shapes.kind(one, root) != Kind.FIXED for one in each)


def row(schema: Any, value: Any, place: Place, token: str, at: int) -> Field:
    """Return the field of one row of a list."""
    return field(schema, value, row_of(place, token, at))


def row_of(place: Place, token: str, at: int) -> Place:
    """Return the place of one row of the list here; its token is where it stood before, if it did."""
    known = place.before if isinstance(place.before, list) else []
    before = known[int(token)] if token.isdigit() and int(token) < len(known) else MISSING
    return replace(place.below(token, at, f"Row {at + 1}", before=before), token=token)
