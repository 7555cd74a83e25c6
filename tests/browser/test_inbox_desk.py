"""Working through the inbox in a real browser: by keys alone, and many at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from runs import models
from tests import factories
from tests.browser.desk import Desk

pytestmark = pytest.mark.django_db(transaction=True)

Sit = Callable[..., Desk]


def test_three_keystrokes_approve_what_can_be_undone(who: factories.People, sit: Sit) -> None:
    """`j` goes to the row, `a` opens it at its approval, Ctrl+Enter sends; the next one is open then. Then the other
    keys of a row: put off, hand over, select."""
    for name in ("one", "two", "three", "four"):
        factories.held(who.operator, name=name, tool="idempotent")
    models.Review.objects.update(tier=1, reason_required=False)
    nora = factories.person("nora", "reviewer")
    page = sit(who.reviewer, viewport={"width": 1280, "height": 1000}).go("/inbox/")
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")

    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Will do one.")).to_be_focused()
    page.keyboard.press("a")
    expect(page.locator("#f-approve-reason")).to_be_focused()
    expect(page.locator("#approve [type=submit]")).not_to_have_attribute("aria-disabled", "true")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Will do two.")
    expect(page.locator("#main").get_by_text("Approved: Will do one.")).to_be_focused()
    assert models.Decision.objects.get().verdict == "approve"

    page.keyboard.press("s")
    expect(page.locator("#f-span")).to_be_focused()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Will do three.")
    expect(page.locator("#main").get_by_text("Put off until")).to_be_visible()
    page.keyboard.press("h")
    expect(page.locator("#f-to")).to_be_focused()
    page.keyboard.type("nora")
    page.keyboard.press("Tab")
    page.keyboard.type("You know them.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Will do four.")
    expect(page.locator("#main").get_by_text("nora has it now")).to_be_visible()
    assert models.Handover.objects.get().to == nora

    page.keyboard.press("u")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    page.keyboard.press("x")
    expect(page.get_by_role("link", name="Will do four.")).to_be_focused()
    expect(page.get_by_text("1 selected")).to_be_visible()
    page.keyboard.press("o")
    expect(page.get_by_role("heading", name="Decide together")).to_be_visible()
    page.keyboard.press("a")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="1 of 1 approved")).to_be_visible()
