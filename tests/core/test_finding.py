"""What is typed to find something becomes a query that can't be anything else, and what is indexed has a bound."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runs import finding


@pytest.mark.parametrize(
    ("typed", "query"),
    [
        ("kolb", "('kolb':*)"),
        ("Kolb CAFÉ", "('kolb':*) & ('café':*)"),
        ("billing@example.com", "('billing' <-> 'example' <-> 'com':*)"),
        ('"open invoices" -draft', "('open' <-> 'invoices') & !('draft':*)"),
        ("a b or c", "('a':*) & ('b':*) | ('c':*)"),
        ("or or a or", "('a':*)"),
        ("ﬁne ß", "('fine':*) & ('ss':*)"),
        ('"', ""),
        ("-only -not", ""),
        ("', ':* & !(", ""),
        ("x' | 'y", "('x':*) & ('y':*)"),
        ("", ""),
    ],
)
def test_what_is_typed_as_a_query(typed: str, query: str) -> None:
    assert finding.query(typed) == query


@settings(max_examples=60, deadline=None)
@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(),
        lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    )
)
def test_whatever_arguments_hold_is_words_or_nothing(value: object) -> None:
    found = finding.text(value)
    assert all(word.isalnum() for word in found.split(" ") if word)
    assert "\x00" not in found


def test_what_is_indexed_has_a_bound() -> None:
    assert len(finding.text(["word"] * 9_000).split()) == finding.MOST_WORDS
    assert finding.text("x" * 1_000_000, "after") == "x" * finding.LONGEST
    assert finding.text({"to": ["Kolb Café", 7, True], "deep": {"x": "\ud800\x00Ünder_score"}}) == (
        "kolb café 7 ünder score"
    )
    assert (finding.number(" #12 "), finding.number("12a"), finding.number("9" * 30)) == (12, None, None)
    assert json.loads(json.dumps(finding.query("x " * 500))).count("&") == finding.MOST_TERMS - 1
