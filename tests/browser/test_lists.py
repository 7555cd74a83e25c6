"""The lists in a real browser: what comes shows up by itself, and there is room for what tells rows apart."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from runs import models
from tests import factories
from tests.browser.desk import Desk
from tests.engine.conftest import go, step

pytestmark = pytest.mark.django_db(transaction=True)

Sit = Callable[..., Desk]


def test_an_empty_inbox_fills_by_itself_and_keeps_hearing(who: factories.People, sit: Sit) -> None:
    page = sit(who.reviewer).go("/inbox/")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")
    factories.held(who.operator, name="one")
    expect(page.get_by_role("link", name="Will do one.")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_have_count(0)
    expect(page.locator("#news a")).to_have_count(0)
    factories.held(who.operator, name="two")
    expect(page.get_by_role("link", name="1 new")).to_be_visible()
    expect(page.locator("[data-row]")).to_have_count(1)
    page.keyboard.press(".")
    expect(page.locator("[data-row]")).to_have_count(2)


def test_the_list_of_runs_gives_its_titles_room(who: factories.People, sit: Sit) -> None:
    title = "Reminders for the northern region, week 48"
    run = go(factories.start(who.operator, step("look", "it"), title=title))
    models.Run.objects.filter(pk=run.pk).update(summary="Some long sentence about what was done. " * 8)
    page = sit(who.reviewer, viewport={"width": 1280, "height": 800}).go("/runs/")
    widths = page.locator("tbody tr > *").evaluate_all("cells => cells.map((cell) => cell.offsetWidth)")
    assert widths[0] >= 288
    assert page.locator("tbody .clamp").evaluate("part => part.clientHeight < part.scrollHeight")
