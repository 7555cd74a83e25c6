"""The small words of the pages: every status has one, amounts and durations read well, errors need nothing."""

import datetime
import decimal
import subprocess
import sys
from pathlib import Path

import pytest
from django.template import loader

from runs import lifecycle
from runs.templatetags import desk

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("family", "values"),
    [
        ("run", lifecycle.Run),
        ("action", lifecycle.Action),
        ("effect", lifecycle.Occurrence),
        ("review", lifecycle.Review),
        ("kind", lifecycle.ReviewKind),
        ("step", lifecycle.Step),
    ],
)
def test_every_status_has_words_of_its_own(family: str, values: type[lifecycle.Run]) -> None:
    # Open still, as who has approved it sees it; waiting, but for another run and not for a person.
    beside = {"review": {"noted"}, "run": {"handed"}}.get(family, set())
    assert set(desk.STATUSES[family]) == {str(value) for value in values} | beside
    words = [word for word, _, _ in desk.STATUSES[family].values()]
    assert len(set(words)) == len(words)


def test_every_icon_named_in_code_or_templates_is_in_the_sprite() -> None:
    sprite = (ROOT / "static/icons/sprite.svg").read_text()
    named = {name for family in desk.STATUSES.values() for _, _, name in family.values()}
    named |= {name for name, _, _ in desk.TIERS.values()}
    for path in (ROOT / "templates").rglob("*.html"):
        named |= {part.split('"')[0] for part in path.read_text().split('{% icon "')[1:]}
        named |= {part.split('"')[0] for part in path.read_text().split('with mark="')[1:]}
    assert {name for name in named if f'id="{name}"' not in sprite} == set()


@pytest.mark.parametrize(
    ("amount", "shown"),
    [(None, "unknown"), ("0", "$0.00"), ("5", "$5.00"), ("0.0132", "$0.0132"), ("1204.5", "$1,204.50")],
)
def test_money(amount: str | None, shown: str) -> None:
    assert desk.money(None if amount is None else decimal.Decimal(amount)) == shown


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (None, "no limit"),
        (0.25, "0.2 s"),
        (10, "10 s"),
        (75, "1 min 15 s"),
        (120, "2 min"),
        (7325, "2 h 2 min"),
    ],
)
def test_durations(value: float | None, shown: str) -> None:
    assert desk.seconds(value) == shown


def test_a_time_is_exact_without_scripts() -> None:
    moment = datetime.datetime(2026, 11, 30, 6, 5, tzinfo=datetime.UTC)
    shown = desk.when(moment)
    assert 'datetime="2026-11-30T06:05:00.000+00:00"' in shown
    assert "30 Nov 2026, 06:05" in shown
    assert desk.when(None) == "never"


@pytest.mark.parametrize("name", ["400", "403", "403_csrf", "404", "409", "422", "500", "503"])
def test_error_pages_need_no_context(name: str) -> None:
    page = loader.render_to_string(f"{name}.html")
    assert page.count("<h1") == 1
    assert 'id="error-box"' in page


def test_vendored_files_are_as_listed() -> None:
    check = subprocess.run(
        [sys.executable, str(ROOT / "static/vendor/check.py")], check=False, capture_output=True, text=True
    )
    assert check.returncode == 0, check.stderr


def test_nothing_inline_and_nothing_from_elsewhere() -> None:
    for path in (ROOT / "templates").rglob("*.html"):
        text = path.read_text()
        for trick in (
            "<style",
            " style=",
            "onclick=",
            "onload=",
            "javascript:",
            "hx-on",
            "https://",
            "http://",
        ):
            assert trick not in text, f"{path.name}: {trick}"
