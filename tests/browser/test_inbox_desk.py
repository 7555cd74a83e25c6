"""Working through the inbox in a real browser: by keys alone, and many at once."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from runs import models
from tests import factories
from tests.browser.desk import Desk
from tests.engine.conftest import answer

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


@pytest.mark.parametrize("script", [True, False])
def test_narrow_the_list_keep_the_view_and_approve_five_together(
    who: factories.People, sit: Sit, script: bool
) -> None:
    """With and without scripts: search, narrow, save as a view, take it as a file, select, read each, approve, and
    see what became of each; somebody else was faster at one."""
    letters = [factories.held(who.operator, name=f"letter {n}", title="Letters") for n in range(5)]
    factories.held(who.operator, name="parcel", tool="idempotent", title="Parcels")
    desk = sit(who.reviewer, java_script_enabled=script, viewport={"width": 1280, "height": 900})
    page = desk.go("/inbox/")
    page.get_by_label("Search the questions").fill("lett")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("[data-row]")).to_have_count(5)
    page.get_by_text("More filters").click()
    page.get_by_label("Tool").select_option("world.lookup")
    page.get_by_role("button", name="Apply").click()
    expect(page.locator("[data-row]")).to_have_count(5)
    page.get_by_text("Save this view").click()
    page.get_by_label("Name").fill("Letters that go out")
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved as “Letters that go out”.")).to_be_visible()
    expect(page.locator("[data-row]")).to_have_count(5)
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert len(download.value.path().read_text(encoding="utf-8").splitlines()) == 6

    for box in page.get_by_role("checkbox").all():
        box.check()
    page.get_by_role("button", name="Look at the selected together").click()
    expect(page.get_by_role("heading", name="world.lookup")).to_be_visible()
    for whole in page.locator(".batch-more details").all():
        whole.locator("summary").click()
        whole.get_by_label("I have read this one").check()
    page.get_by_role("button", name="Approve the ticked").click()
    expect(page.get_by_role("link", name="Say what you checked")).to_be_visible()  # and nothing is lost
    if script:
        expect(page.get_by_role("heading", name="Please check this")).to_be_focused()
        assert (desk.violations(), desk.sideways()) == ([], 0)
    answer(letters[2], factories.person("nora", "reviewer"), "reject", reason="Wrong customer.")
    page.get_by_label("Reason").fill("Read each of them.")
    page.get_by_role("button", name="Approve the ticked").click()
    expect(page.get_by_role("heading", name="4 of 5 approved")).to_be_visible()
    if script:
        expect(page.get_by_role("heading", name="4 of 5 approved")).to_be_focused()
        assert (desk.violations(), desk.sideways()) == ([], 0)
    expect(page.get_by_text("nora rejected this first; nothing you typed was used.")).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="Inbox").last.click()
    expect(page.get_by_role("link", name="Letters that go out")).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()
