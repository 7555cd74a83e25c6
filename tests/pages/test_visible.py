"""No character of an untrusted text can hide: the corpus of tricks, and that nothing is lost."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import json_lines, visible
from runs.templatetags import safe_text

Kind = visible.Kind


def kinds(text: str) -> set[Kind]:
    return {segment.kind for segment in visible.segments(text)} - {Kind.TEXT}


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("pay \u202e0001 EUR", Kind.BIDI),
        ("a\u2066b\u2069", Kind.BIDI),
        ("mail\u200bbox", Kind.INVISIBLE),
        ("zero\u200djoin", Kind.INVISIBLE),
        ("\ufefftext", Kind.INVISIBLE),
        ("soft\u00adhyphen", Kind.INVISIBLE),
        ("tag\U000e0041", Kind.INVISIBLE),
        ("heart\ufe0f", Kind.INVISIBLE),
        ("selector\U000e0100", Kind.INVISIBLE),
        ("filler\u3164", Kind.INVISIBLE),
        ("braille\u2800blank", Kind.INVISIBLE),
        ("nul\x00", Kind.CONTROL),
        ("carriage\r", Kind.CONTROL),
        ("next\x85line", Kind.CONTROL),
        ("a\tb", Kind.TAB),
        ("line\u2028separator", Kind.BREAK),
        ("far" + "\n" * 9 + "below", Kind.BREAK),
        ("no\u00a0break", Kind.SPACE),
        ("gap" + " " * 40 + "beyond", Kind.SPACE),
        ("private\ue000", Kind.UNKNOWN),
        ("unassigned\u0378", Kind.UNKNOWN),
        ("half \ud800 pair", Kind.BROKEN),
        ("half \udfff", Kind.BROKEN),
        ("\u0301accent", Kind.MARKS),
        ("z" + "\u0335" * 12, Kind.MARKS),
        ("p\u0430ypal", Kind.MIXED),
        ("\u0430pple.com", Kind.MIXED),
        ("pay to \u0441\u0435\u0440\u043e", Kind.MIXED),
        ("\uff50\uff41\uff59", Kind.MIXED),
        ("\U0001d429\U0001d41a\U0001d432", Kind.MIXED),
    ],
)
def test_a_trick_gets_a_badge(text: str, kind: Kind) -> None:
    assert kinds(text) == {kind}
    shown = safe_text.render(text)
    assert f"vis-{kind}" in shown
    if kind is not Kind.TAB:
        assert visible.warnings(text)
    shown.encode()  # nothing left that can't be sent


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Dear Ms. Meier,\n\nyour invoice 2026-0017 over 1,204.50 EUR is overdue.\n",
        "Größe, naïve, Łódź, Ærø, ﬁ",
        "cafe\u0301",
        "привет мир",
        "Καλημέρα κόσμε",
        "東京タワーのカフェ Tokyo 日本語",
        "서울 한국어",
        "שלום עולם",
        "5 µm, 3 ½ + 2 €",
        "a_b-c.d@example.com",
    ],
)
def test_honest_text_stays_plain(text: str) -> None:
    assert kinds(text) == set()
    assert visible.warnings(text) == []


@given(st.text(alphabet=st.characters(codec=None, exclude_categories=())))
def test_nothing_is_lost(text: str) -> None:
    assert "".join(segment.source for segment in visible.segments(text)) == text


@given(st.text(alphabet=st.sampled_from("ab<&\"'>\u202e\x00\ud800\u0430 \n")))
def test_output_is_harmless_html(text: str) -> None:
    shown = safe_text.render(text)
    assert "\u202e" not in shown
    assert "\x00" not in shown
    assert "<script" not in safe_text.render(f"<script>{text}")
    shown.encode()


def test_equal_neighbours_are_counted() -> None:
    (badge,) = visible.segments("\x00" * 1_000_000)
    assert (badge.count, badge.mark, badge.label) == (1_000_000, "U+0000", "NULL")


def test_names_are_given() -> None:
    assert "RIGHT-TO-LEFT OVERRIDE" in safe_text.render("\u202e")
    assert "U+0430 CYRILLIC SMALL LETTER A" in safe_text.render("p\u0430ypal")
    assert visible.warnings("\u202ea\u202eb") == ["2 characters that change the reading direction (U+202E)"]


@pytest.mark.parametrize("piece", ["plain words, ", "Grüße \u4e2d\u6587 ", "x", "é", "\u200b a "])
def test_a_megabyte_is_shown_whole_and_soon(piece: str) -> None:
    text = piece * (1_000_000 // len(piece))
    began = time.process_time()
    pieces = visible.segments(text)
    assert "".join(segment.source for segment in pieces) == text
    assert time.process_time() - began < 10


def shown(text: str) -> list[str]:
    return ["".join(token.text for token in line.tokens) for line in json_lines.lines(text)]


def test_json_is_laid_out_whole() -> None:
    text = '{"amount":1204.50,"big":12345678901234567890123,"list":[],"ok":true,"text":"a\\nb \\"c\\" \\\\"}'
    assert shown(text) == [
        "{",
        '"amount": 1204.50,',
        '"big": 12345678901234567890123,',
        '"list": [],',
        '"ok": true,',
        '"text": "a\n',
        'b \\"c\\" \\\\"',
        "}",
    ]
    assert [line.top for line in json_lines.lines(text)][1] == "amount"


def test_json_keeps_numbers_and_order_as_stored() -> None:
    assert shown('{"b":1.0,"a":1e400,"c":-0}') == ["{", '"b": 1.0,', '"a": 1e400,', '"c": -0', "}"]


def test_json_escapes_become_visible() -> None:
    text = json.dumps({"to": "p\u0430ypal\u202e\x00\ud800"})
    assert text.isascii()
    page = safe_text.exact_json(text)
    for mark in ("U+202E", "U+0000", "U+D800", "lookalike"):
        assert mark in page
    assert len(safe_text.json_warnings(text)) == 4


@pytest.mark.parametrize("text", ["not json", '{"a":', "[" * 100_000 + "]" * 100_000, ""])
def test_what_cannot_be_laid_out_is_shown_as_stored(text: str) -> None:
    assert "\n".join(shown(text)) == text


def test_long_json_is_folded_not_cut() -> None:
    page = safe_text.exact_json(json.dumps([f"row {number}" for number in range(1_000)]))
    assert page.count('class="line') == 1_002
    assert page.count("data-must-open") == 5
    assert "Lines 1,001 to 1,002 of 1,002" in page


def test_decisive_and_changed_arguments_are_marked() -> None:
    page = safe_text.exact_json('{"amount":1,"to":{"name":"x"}}', decisive=["amount"], changed=["to"])
    assert page.count("decisive") == 1
    assert page.count("line depth-1 changed") == 2
