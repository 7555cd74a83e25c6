"""The arithmetic of the benchmark, and that it reads the pages as they are."""

from __future__ import annotations

from tests.bench import browser, desk


def test_a_spread_names_the_middle_and_the_slow_end() -> None:
    spread = desk.Spread.of([number / 1000 for number in range(1, 101)])
    assert (spread.n, spread.p50, spread.p95, spread.worst) == (100, 50.5, 95.0, 100.0)
    assert desk.Spread.of([0.004]).p95 == 4.0
    assert desk.Spread.of([0.001] * 29 + [1.0]).p95 == 1.0


def test_hidden_fields_are_read_once_and_unescaped() -> None:
    page = """<input type="hidden" name="token" value="a&amp;b"><input name="reason" type="text" value="x">
    <input type="hidden" name="token" value="of another form"><input name="empty" type="hidden">"""
    assert browser.hidden(page) == {"token": "a&b", "empty": ""}
