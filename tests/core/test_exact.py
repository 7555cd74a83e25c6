"""Exact JSON: one text for one value, and every value that JSON can't carry exactly is refused at the door."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import exact

# Every code point, NUL and lone surrogates included.
TEXT = st.text(st.characters(min_codepoint=0, max_codepoint=0x10FFFF, exclude_categories=()), max_size=20)
NUMBERS = st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.integers(-(10**400), 10**400)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def same(one: Any, other: Any) -> bool:
    """Return whether two values are equal in type too: 1, 1.0 and True differ, and so do 0.0 and -0.0."""
    return repr(one) == repr(other)


def in_order(value: Any) -> Any:
    """Return the value with its keys sorted, as `repr` would else tell insertion orders apart."""
    if isinstance(value, dict):
        return {key: in_order(value[key]) for key in sorted(value)}
    return [in_order(item) for item in value] if isinstance(value, list) else value


@given(VALUES)
def test_what_is_written_reads_back_the_same(value: Any) -> None:
    text = exact.canonical(value)
    assert text.isascii()
    assert "\x00" not in text
    assert same(exact.parse(text), in_order(value))
    assert same(exact.stored(text), in_order(value))
    assert exact.canonical(exact.parse(text)) == text


@given(VALUES)
def test_order_and_white_space_change_no_digest(value: Any) -> None:
    loose = json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False)
    assert exact.digest_of(exact.parse(loose)) == exact.digest_of(value)


@given(VALUES, VALUES)
def test_two_values_have_two_texts(one: Any, other: Any) -> None:
    assert (exact.canonical(one) == exact.canonical(other)) == same(in_order(one), in_order(other))


@given(st.lists(TEXT | st.integers()), st.lists(TEXT | st.integers()))
def test_no_two_lists_of_parts_join_to_the_same_bytes(one: list[str | int], other: list[str | int]) -> None:
    as_text = [str(part) for part in one], [str(part) for part in other]
    assert (exact.join(one) == exact.join(other)) == (as_text[0] == as_text[1])


def test_parts_don_t_run_into_each_other() -> None:
    assert exact.link("ab", "c") != exact.link("a", "bc") != exact.link("abc")
    assert exact.seal(b"k", "ab", "c") != exact.seal(b"k", "a", "bc")
    assert exact.seal(b"k", "a") != exact.seal(b"l", "a")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"a": 1, "a": 1}', "stands twice"),
        ('[{"x": {"\\u0061": 1, "a": 2}}]', "stands twice"),
        ("NaN", "NaN is not"),
        ('{"a": [Infinity]}', "Infinity is not"),
        ("-Infinity", "-Infinity is not"),
        ("1e999", "too large"),
        ("-1e999", "too large"),
        ("1" * 5000, "too many digits to be kept exactly"),
        ("[" * 66 + "]" * 66, "deeper than 64"),
        ("[" * 200_000 + "]" * 200_000, "deeper than 64"),
        ('"' + "x" * 1_000_000 + '"', "limit is 1,000,000"),
        ('"' + "\N{EURO SIGN}" * 400_000 + '"', "limit is 1,000,000"),
        ("{'a': 1}", "line 1, column 2"),
        ("", "not JSON"),
        ("{} {}", "not JSON"),
        ("\N{ZERO WIDTH NO-BREAK SPACE}{}", "not JSON"),
        ('"\x00"', "not JSON"),
        ("01", "not JSON"),
    ],
)
def test_a_text_that_is_not_exact_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(exact.NotExact, match=why) as refused:
        exact.parse(text)
    assert len(str(refused.value)) < 200


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (math.nan, "nan is not"),
        ({"a": [math.inf]}, "inf is not"),
        ({1: "a"}, "not a string"),
        ({None: "a"}, "not a string"),
        ({"a": {1, 2}}, "A set"),
        ({"a": b"bytes"}, "A bytes"),
        (object(), "A object"),
        pytest.param(10**5000, "can't be stored", id="5001 digits"),
        ("x" * 999_999, "limit is 1,000,000"),
    ],
)
def test_a_value_that_is_not_exact_is_refused_in_words(value: Any, why: str) -> None:
    with pytest.raises(exact.NotExact, match=why):
        exact.canonical(value)


def test_a_value_that_holds_itself_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(exact.NotExact, match="deeper"):
        exact.canonical(value)


def test_the_limits_themselves_pass() -> None:
    deep: Any = 0
    for _ in range(exact.MAX_DEPTH):
        deep = [deep]
    assert exact.parse(exact.canonical(deep)) == deep
    longest = "x" * (exact.MAX_BYTES - 2)
    assert exact.parse(exact.canonical(longest)) == longest
    assert len(exact.canonical("x" * exact.MAX_BYTES, limit=None)) == exact.MAX_BYTES + 2


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"b": 1, "a": 2}, '{"a":2,"b":1}'),
        ("\x00", '"\\u0000"'),
        ("\ud800", '"\\ud800"'),
        ("\N{EURO SIGN}\N{GRINNING FACE}", '"\\u20ac\\ud83d\\ude00"'),
        (9_007_199_254_740_993, "9007199254740993"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        ((1, (2,)), "[1,[2]]"),
        (10**400, "1" + "0" * 400),
    ],
)
def test_the_one_text(value: Any, text: str) -> None:
    assert exact.canonical(value) == text


def test_only_digests_look_like_digests() -> None:
    assert exact.is_digest(exact.digest_of(1))
    assert exact.is_digest(exact.EMPTY)
    for other in ("", "g" * 64, exact.EMPTY + "\n", exact.EMPTY.replace("0", "A"), 5, None):
        assert not exact.is_digest(other)
