"""Working through the inbox by keys alone: one after the other, many at once, and every kind of answer."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from runs import models
from tests import factories
from tests.browser.desk import Desk
from tests.engine.conftest import answer, go, only_review
from tests.pages import test_questions as questions

pytestmark = pytest.mark.django_db(transaction=True)

Sit = Callable[..., Desk]


def test_three_keystrokes_approve_what_can_be_undone(who: factories.People, sit: Sit) -> None:
    """`j` goes to the row, `a` opens it at its approval, Ctrl+Enter sends; the next one is open then. Then the other
    keys of a row: put off, hand over, select."""
    for name in ("one", "two", "three", "four"):
        factories.held(who.operator, name=name, tool="idempotent")
    models.Review.objects.update(tier=1, reason_required=False)
    nora = factories.person("nora", "reviewer")
    page = sit(who.reviewer, mouse=False, viewport={"width": 1280, "height": 1000}).go("/inbox/")
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


def test_narrow_the_list_keep_the_view_and_approve_five_together(who: factories.People, sit: Sit) -> None:
    """By keys alone: search, narrow, save as a view, take it as a file, select, read each, approve, and see what
    became of each; somebody else was faster at one."""
    letters = [factories.held(who.operator, name=f"letter {n}", title="Letters") for n in range(5)]
    factories.held(who.operator, name="parcel", tool="idempotent", title="Parcels")
    desk = sit(who.reviewer, mouse=False, viewport={"width": 1280, "height": 900})
    page, press, write = desk.go("/inbox/"), desk.press, desk.page.keyboard.type
    press("/")
    expect(page.get_by_label("Search the questions")).to_be_focused()
    write("lett")
    press("Enter")
    expect(page.locator("[data-row]")).to_have_count(5)
    press("f")
    expect(page.get_by_label("Tool")).to_be_focused()
    write("world.lookup")
    desk.tab_to(page.get_by_role("button", name="Apply"), "Enter")
    page.wait_for_url("**tool=world.lookup**")
    expect(page.locator("[data-row]")).to_have_count(5)
    press("v")
    expect(page.get_by_label("Name")).to_be_focused()
    desk.send("Letters that go out")
    expect(page.get_by_text("Saved as “Letters that go out”.")).to_be_visible()
    expect(page.locator("[data-row]")).to_have_count(5)
    desk.tab_to(page.get_by_role("link", name="CSV"))
    with page.expect_download() as download:
        press("Enter")
    assert len(download.value.path().read_text(encoding="utf-8").splitlines()) == 6

    press("Shift+X")
    expect(page.get_by_text("5 selected")).to_be_visible()
    press("o")
    expect(page.get_by_role("heading", name="world.lookup")).to_be_visible()
    for whole in page.locator(".batch-more details").all():
        desk.tab_to(whole.locator("summary"), "Enter")
        desk.tab_to(whole.get_by_label("I have read this one"), "Space")
    press("a")
    expect(page.get_by_label("Reason")).to_be_focused()
    press("Control+Enter")
    expect(page.get_by_role("link", name="Say what you checked")).to_be_visible()  # and nothing is lost
    expect(page.get_by_role("heading", name="Please check this")).to_be_focused()
    assert (desk.violations(), desk.sideways()) == ([], 0)
    answer(letters[2], factories.person("nora", "reviewer"), "reject", reason="Wrong customer.")
    press("a")
    desk.send("Read each of them.")
    expect(page.get_by_role("heading", name="4 of 5 approved")).to_be_focused()
    assert (desk.violations(), desk.sideways()) == ([], 0)
    expect(page.get_by_text("nora rejected this first; nothing you typed was used.")).to_be_visible()
    press("u")
    expect(page.get_by_role("link", name="Letters that go out")).to_have_attribute("aria-current", "true")
    expect(page.get_by_role("heading", name="Nothing matches")).to_be_visible()


def test_every_other_answer_by_keys(who: factories.People, sit: Sit) -> None:
    """One after the other, as they wait: it happened, it did not, done by hand, asked back, and a question answered."""
    found, absent = (factories.in_doubt(who.operator, who.reviewer) for _ in range(2))
    stamp, parcel = (factories.held(who.operator, name=name).run for name in ("stamp", "parcel"))
    asked = questions.asked(who).run
    models.Occurrence.objects.update(horizon=timezone.now() - datetime.timedelta(minutes=1))
    desk = sit(who.reviewer, mouse=False, viewport={"width": 1280, "height": 1000})
    page, press, write = desk.go("/inbox/"), desk.press, desk.page.keyboard.type
    said = page.locator("#done [data-focus]")
    press("j", "a")
    expect(page.get_by_role("radio", name="It happened")).to_be_focused()
    press("Space", "Tab")
    write("Parcel 9")
    press("Tab")
    desk.send("The carrier's list.")
    page.wait_for_url("**/?done=*")
    expect(said).to_be_focused()

    press("a", "ArrowDown")
    expect(page.get_by_role("radio", name="It did not happen: do it")).to_be_checked()
    desk.tab_to(page.get_by_label("Where you looked"))
    desk.send("The carrier's list.")
    expect(page.get_by_role("heading", level=1)).to_have_text("Will do stamp.")
    expect(said).to_be_focused()

    press("o")
    expect(page.get_by_role("radio", name="Ask back")).to_be_focused()
    press("ArrowDown", "Tab")
    desk.send("It was urgent.")
    expect(page.get_by_role("heading", name="Please check this")).to_be_focused()
    press("Tab", "Enter")
    expect(page.locator("#f-wider-receipt")).to_be_focused()
    desk.send("Stamp 17")
    expect(page.get_by_role("heading", level=1)).to_have_text("Will do parcel.")
    expect(said).to_be_focused()

    press("o", "Space", "Tab")
    desk.send("Net or gross?")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Nordwind")
    expect(said).to_be_focused()

    press("a")
    expect(page.get_by_label("What to do")).to_be_focused()
    desk.send("wait")
    expect(page.get_by_role("heading", name="Please check this")).to_be_focused()
    desk.tab_to(page.get_by_label("Days"))
    desk.send("14")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    expect(said).to_be_focused()
    for run in (found, stamp, parcel, asked):
        assert go(run).status == "succeeded"
    assert only_review(go(absent)).kind == "action"  # asked once more before it is done
