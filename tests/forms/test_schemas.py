"""Forms from schemas: what is drawn and sent back untouched is the same to the byte, and typing gives exact types."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runs import exact, jsonschemas
from runs.forms import schemas
from tests.core.test_exact import NUMBERS, TEXT, VALUES
from tests.forms.browser import untouched

WORDS = st.text(st.sampled_from("ab \n\r\t\x00\u202e\ud800é<&\"'"), max_size=8)
LEAVES: st.SearchStrategy[Any] = st.sampled_from([
    {"type": "string"}, {"type": "string", "format": "date"}, {"type": "string", "format": "email"},
    {"type": "string", "maxLength": 900}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"},
    {"type": "null"}, {"const": 1}, {"const": "one"}, {"enum": [1, 1.0, "1", None, True]}, {},
    {"type": ["string", "null"]}, {"type": "integer", "readOnly": True}, {"$ref": "#/$defs/text"},
    {"type": "array", "prefixItems": [{"type": "string"}]}, {"type": "object"}, True,
])  # fmt: skip


def _larger(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    names = st.sampled_from(["a", "b", "c d", "nul\x00"])
    objects = st.builds(
        lambda properties, needed, default: {
            "type": "object",
            "properties": properties,
            "required": [name for name in properties if name in needed],
            **default,
        },
        st.dictionaries(names, inner, max_size=3),
        st.sets(names),
        st.sampled_from([{}, {"additionalProperties": False}]),
    )
    return (
        objects
        | inner.map(lambda items: {"type": "array", "items": items})
        | st.lists(inner, min_size=1, max_size=3).map(lambda each: {"anyOf": each})
        | inner.map(lambda one: {"oneOf": [one, {"type": "null"}], "default": None})
    )


SCHEMAS = st.recursive(LEAVES, _larger, max_leaves=8)


def values(schema: Any) -> st.SearchStrategy[Any]:
    """Values that mostly fit, with entries left out, added, and of another type here and there."""
    odd = st.deferred(lambda: VALUES)
    if not isinstance(schema, dict) or schema.get("readOnly"):
        return odd
    each = schema.get("anyOf") or schema.get("oneOf")
    if each:
        return st.one_of([values(one) for one in each])
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    match schema.get("type"):
        case "string":
            return WORDS | TEXT | st.just("2026-11-30")
        case "integer" | "number":
            return NUMBERS
        case "object" if schema.get("properties"):
            known = {name: values(part) for name, part in schema["properties"].items()}
            extra = st.dictionaries(TEXT, odd, max_size=1)
            fixed = st.fixed_dictionaries({}, optional=known)
            return st.builds(lambda one, other: other | one, fixed, extra | st.just({}))
        case "array" if "items" in schema:
            return st.lists(values(schema["items"]), max_size=3)
    return odd


@st.composite
def pairs(draw: st.DrawFn) -> tuple[dict[str, Any], Any]:
    """A schema with a value."""
    schema = draw(SCHEMAS)
    root = {**schema, "$defs": {"text": {"type": "string"}}} if isinstance(schema, dict) else {}
    return root, draw(values(schema) | st.just(draw(VALUES)))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(pairs())
def test_untouched_is_the_same_to_the_byte(pair: tuple[dict[str, Any], Any]) -> None:
    schema, value = pair
    drawn = schemas.build(schema, value)
    found = schemas.result(schemas.read(schema, untouched(drawn), value))
    assert found.errors == {}
    assert exact.canonical(found.value) == exact.canonical(value)
    assert not any(field.edited for field in schemas.marked(drawn, {}).every())


MAIL: dict[str, Any] = {
    "type": "object",
    "required": ["to", "amount", "lines"],
    "additionalProperties": False,
    "properties": {
        "to": {"type": "string", "format": "email", "title": "To"},
        "cc": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "amount": {"type": "number", "minimum": 1},
        "count": {"type": "integer"},
        "urgent": {"type": "boolean", "default": False},
        "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
        "letter": {"$ref": "#/$defs/file"},
        "more": {"anyOf": [{"$ref": "#/$defs/line"}, {"type": "array", "items": {"type": "integer"}}]},
    },
    "$defs": {
        "line": {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
        "file": {
            "type": "object",
            "properties": {"path": {"type": "string"}, "sha256": {"type": "string"}},
            "required": ["path", "sha256"],
        },
    },
}
FILE = {"path": "letter.pdf", "sha256": "a" * 64}
VALUE: dict[str, Any] = {
    "to": "a@example.org", "cc": None, "amount": 1.0, "urgent": False, "letter": FILE,
    "lines": [{"text": "one"}, {"text": "two"}, {"text": "three"}],
}  # fmt: skip


def sent(act: str = "", value: Any = None, **typed: str) -> schemas.Result:
    """What comes of the form when these controls are typed in, or this button is pressed."""
    value = VALUE if value is None else value
    posted = untouched(schemas.build(MAIL, value))
    posted |= {name.replace("_", "-").replace("as", ":as"): [text] for name, text in typed.items()}
    return schemas.result(schemas.read(MAIL, posted, value, act=act))


def test_what_is_typed_has_the_type_of_its_field() -> None:
    assert sent(a_2="2").value["amount"] == 2
    assert exact.canonical(sent(a_2="2.0").value["amount"]) == "2.0"
    assert sent(a_2="123456789012345678901234567890").value["amount"] == 123456789012345678901234567890
    assert sent(a_0="b@example.org ").value["to"] == "b@example.org "
    assert sent(a_4="true").value["urgent"] is True
    assert sent(a_1as="0", a_1="").value["cc"] == ""  # a text, and empty
    assert "count" not in sent().value  # an empty number is left out
    assert sent(a_3="7").value["count"] == 7


@pytest.mark.parametrize(("text", "sentence"), [
    ("1,50", "Write it with a point, not with a comma."), ("", "This is empty."), ("007", "Write a number"),
    ("1e999", "Write a number"), ("nan", "Write a number"), ("9" * 5000, "Write a number"),
])  # fmt: skip
def test_what_is_no_number_is_said_beside_its_field(text: str, sentence: str) -> None:
    found = sent(a_2=text)
    assert list(found.errors) == ["a-2"]
    assert found.errors["a-2"].startswith(sentence)


def test_rows_are_added_removed_and_moved_by_buttons() -> None:
    def texts(act: str) -> list[str]:
        return [row["text"] for row in sent(act).value["lines"]]

    assert texts("add:a-5") == ["one", "two", "three", ""]
    assert texts("remove:a-5-0") == ["two", "three"]
    assert texts("up:a-5-1") == ["two", "one", "three"]
    assert texts("down:a-5-2") == texts("up:a-5-9") == ["one", "two", "three"]
    assert sent("reset:a-5", a_5_0_0="changed").value["lines"] == VALUE["lines"]
    assert sent("reset:a-5-1-0", a_5_0_0="kept", a_5_1_0="x").value["lines"][:2] == [
        {"text": "kept"},
        {"text": "two"},
    ]


def test_a_file_is_never_typed() -> None:
    assert sent(a_6="{}", a_6as="json").value["letter"] == FILE
    assert sent(a_6_0="other.pdf").value["letter"] == FILE


def test_another_way_is_drawn_before_it_is_taken() -> None:
    value = VALUE | {"more": [1, 2]}
    first = sent("way:a-7", value, a_7as="0")
    assert list(first.errors) == ["a-7", "a-7-0"][:1]
    fields = schemas.read(MAIL, untouched(schemas.build(MAIL, value)) | {"a-7:as": ["0"]}, value)
    again = schemas.read(MAIL, untouched(fields) | {"a-7-0": ["x"]}, value)
    assert schemas.result(again).value["more"] == {"text": "x"}
    as_json = schemas.read(MAIL, untouched(schemas.build(MAIL, value)) | {"a-7:as": ["json"]}, value)
    assert as_json.parts[7].text == "[\n  1,\n  2\n]"


def test_what_does_not_fit_the_schema_is_said_at_the_nearest_field() -> None:
    posted = untouched(schemas.build(MAIL, VALUE)) | {"a-2": ["0.5"], "a-0": ["nobody"]}
    found = schemas.checked(schemas.read(MAIL, posted, VALUE), MAIL)
    assert found.errors == {"a-2": "At least 1.", "a-0": "This is no e-mail address."}


def test_a_form_with_parts_missing_is_not_guessed() -> None:
    posted = untouched(schemas.build(MAIL, VALUE))
    del posted["a-0"], posted["a-5:rows"]
    found = schemas.result(schemas.read(MAIL, posted, VALUE))
    assert set(found.errors) == {"a-0", "a-5"}


def test_what_is_too_much_for_a_form_is_edited_as_json() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    drawn = schemas.build(schema, list(range(60)))
    assert (drawn.kind, drawn.shape) == ("json", "json")
    assert schemas.result(schemas.read(schema, untouched(drawn), [])).value == list(range(60))


def test_an_answer_begins_empty_and_what_is_left_empty_is_left_out() -> None:
    schema = {
        "type": "object",
        "required": ["name", "kind"],
        "properties": {
            "name": {"type": "string"},
            "kind": {"enum": ["a", "b"]},
            "note": {"type": "string"},
            "sum": {"type": "number", "default": 3},
        },
    }
    drawn = schemas.blank(schema)
    posted = untouched(drawn)
    found = schemas.result(schemas.read(schema, posted, schemas.MISSING, asked=True))
    assert found.errors == {"a-0": "This is empty.", "a-1": "Choose one."}
    posted |= {"a-0": ["x"], "a-1": ["1"]}
    found = schemas.result(schemas.read(schema, posted, schemas.MISSING, asked=True))
    assert found.value == {"name": "x", "kind": "b", "sum": 3}


@pytest.mark.parametrize(("schema", "sentence"), [
    ([], "must be an object"),
    ({"type": "nothing"}, "the schema is none"),
    ({"$ref": "#"}, "refers to itself"),
    ({"$ref": "https://example.org/schema"}, "not a place in this schema"),
    ({"$ref": "#/$defs/gone"}, "there is nothing at"),
    ({"type": "string", "pattern": "(?=x)"}, "can't be matched"),
    ({"patternProperties": {"(a+)+$": {}}}, "patternProperties is not supported"),
    ({"description": "x" * 30_000}, "the limit is 20,000"),
    ({"anyOf": [{"type": "string"}] * 600}, "more than 500 parts"),
])  # fmt: skip
def test_a_schema_from_outside_is_looked_at_first(schema: Any, sentence: str) -> None:
    with pytest.raises(jsonschemas.BadSchema, match=sentence):
        jsonschemas.check(schema)


def test_a_pattern_takes_linear_time() -> None:
    schema = {"type": "string", "pattern": "^(a+)+$"}
    jsonschemas.check(schema)
    assert [problem.path for problem in jsonschemas.problems(schema, "a" * 5000 + "b")] == [()]
    assert jsonschemas.problems(schema, "aaa") == ()
