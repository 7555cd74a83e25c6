"""Expressions and templates stay exact, bounded and explained."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import cel, celtext, exact

VARIABLES: dict[str, Any] = {
    "input": {"n": 7, "f": 1.5, "rows": [1, 2, 3], "none": None, "name": "Zoë"},
    "steps": {"read-file": {"rows": [{"x": 1}, {"x": 2}]}},
}


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("input.n", 7),
        ("input.n / 2", 3),
        ("input.f", 1.5),
        ("input.none", None),
        ("input.rows.map(x, x * 2)", [2, 4, 6]),
        ("steps['read-file'].rows.filter(r, r.x == 2)[0]", {"x": 2}),
        ("has(input.missing) ? input.missing : 'none'", "none"),
        ("input.rows.join('; ')", "1; 2; 3"),
        ("plural(1, 'row') + ', ' + plural(3, 'row')", "1 row, 3 rows"),
        ("'a }' + \"{\"", "a }{"),
    ],
)
def test_values_keep_their_types(expression: str, value: Any) -> None:
    found = cel.evaluate(expression, VARIABLES)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("expression", "words"),
    [
        ("", "Syntax error"),
        ("1 +", "at character 4"),
        ("input.missing", "there is no 'missing'"),
        ("unknown", "'unknown' is not known here"),
        ("1 + 1.0", "types don't fit"),
        ("1 / 0", "divides by zero"),
        ("9223372036854775807 + 1", "too large"),
        ("input.rows[9]", "no such item"),
        ("1.0 / 0.0", "no finite number"),
        ("b'bytes'", "isn't plain JSON"),
        ("timestamp('2026-01-01T00:00:00Z')", "isn't plain JSON"),
        ("{1: 2}", "isn't plain JSON"),
        ("a" * 2001, "the limit is 2,000"),
        ("(" * 30 + "1" + ")" * 30, "nested 30 levels"),
        ("input.rows.all(a, input.rows.all(b, input.rows.all(c, true)))", "lists inside of lists"),
        ("+".join(["input.rows.map(a, a)[0]"] * 9), "the limit is 8"),
    ],
)
def test_what_fails_is_one_sentence_that_quotes_the_expression(expression: str, words: str) -> None:
    with pytest.raises(cel.CelError) as caught:
        cel.evaluate(expression, VARIABLES)
    message = str(caught.value)
    assert words in message
    assert message.startswith("The expression ")
    assert message.endswith(".")
    assert "\n" not in message


def test_a_number_or_text_that_would_change_on_the_way_is_refused() -> None:
    with pytest.raises(cel.CelError, match="too large to stay exact"):
        cel.evaluate("a", {"a": 2**63})
    with pytest.raises(cel.CelError, match="half a character"):
        cel.evaluate("a", {"a": "\ud800"})
    assert cel.evaluate("a", {"a": 2**63 - 1}) == 2**63 - 1
    assert cel.evaluate("a", {"a": "x\x00"}) == "x\x00"


def test_work_is_bounded_by_the_lists_that_are_read() -> None:
    started = time.monotonic()
    with pytest.raises(cel.CelError, match="too many times"):
        cel.evaluate("a.all(x, a.all(y, true))", {"a": list(range(100_000))})
    assert time.monotonic() - started < 2
    assert cel.evaluate("a.exists(x, x == 99)", {"a": list(range(100))}) is True


@pytest.mark.parametrize(
    ("value", "truth"), [("true", True), ("false", False), ("1", False), ("'true'", False)]
)
def test_only_the_literal_true_counts(value: str, truth: bool) -> None:
    assert cel.truth(value, {}) is truth


@pytest.mark.parametrize(
    ("template", "value"),
    [
        ("${input.n}", 7),
        ("n = ${input.n}!", "n = 7!"),
        ("${input.n}${input.f}", "71.5"),
        ("${ {'a': {'b': '}'}}['a'].b } end", "} end"),
        ("$${input.n} $5", "${input.n} $5"),
        ("${input.none}", None),
        ("", ""),
        (
            {"to": "${input.name}", "n": ["${input.rows}", 1, None, True]},
            {"to": "Zoë", "n": [[1, 2, 3], 1, None, True]},
        ),
    ],
)
def test_templates(template: Any, value: Any) -> None:
    assert cel.render(template, VARIABLES) == value


@pytest.mark.parametrize("template", ["Dear ${input.none}", "x ${input.rows}", "${input.n", "a ${input} b"])
def test_templates_refuse_holes_that_make_no_text(template: str) -> None:
    with pytest.raises(cel.CelError):
        cel.render(template, VARIABLES)


def test_names_and_references_are_read_without_evaluating() -> None:
    text = (
        "input.rows.map(x, x + one).exists(z, z in [1]) && has(steps.a.b) && steps['c-d'].size() > 0 // other"
    )
    assert cel.check(text) == {"input", "one", "steps"}
    assert cel.references(text, "steps") == {"a", "c-d"}
    assert cel.references("'steps.a' + input.steps", "steps") == frozenset()
    for loose in ("size(steps)", "steps[input.n]", "steps['a' + 'b']"):
        with pytest.raises(cel.CelError, match="without saying which"):
            cel.references(loose, "steps")


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(json_values)
def test_any_json_value_passes_through_unchanged(value: Any) -> None:
    found = cel.render("${input.value}", {"input": {"value": value}})
    assert exact.canonical(found) == exact.canonical(value)


@given(st.text(max_size=60))
def test_reading_a_text_never_breaks_in_another_way(text: str) -> None:
    for read in (cel.check, lambda item: list(cel.expressions(item)), lambda item: cel.render(item, {})):
        try:
            read(text)
        except cel.CelError as error:
            assert str(error).endswith(".")  # noqa: PT017 - most texts are not refused


@given(st.text(alphabet="ab${}'\"\\. ", max_size=30))
def test_split_keeps_every_text_without_holes(text: str) -> None:
    try:
        parts = celtext.split(text)
    except celtext.Unreadable:
        return
    if "${" not in text:
        assert parts == (text,)
