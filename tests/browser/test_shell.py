"""The comfort that scripts add: keys and their sheet, the gate before an approval, drafts, the theme."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from tests import factories
from tests.browser.desk import Desk

pytestmark = pytest.mark.django_db(transaction=True)

Sit = Callable[..., Desk]


def test_the_sheet_lists_exactly_the_keys_of_the_page(who: factories.People, sit: Sit) -> None:
    factories.held(who.operator)
    page = sit(who.reviewer).go("/inbox/")
    page.keyboard.press("?")
    sheet = page.locator("#keys")
    expect(sheet).to_be_visible()
    marks = page.locator("[data-hotkey]").count()
    expect(sheet.locator("[data-keys-list] > div")).to_have_count(marks + 2)  # Enter, and the palette
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.closest('#keys') !== null")  # keys rest under the sheet
    page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()


def test_the_palette_finds_what_a_key_does(who: factories.People, sit: Sit) -> None:
    """Ctrl+K, a few letters, Enter: the same as the key that it shows beside the words."""
    review = factories.held(who.operator)
    desk = sit(who.reviewer)
    page = desk.go(f"/reviews/{review.pk}/")
    page.keyboard.press("Control+k")
    palette = page.locator("#palette")
    expect(palette.get_by_role("combobox")).to_be_focused()
    assert desk.violations() == []
    page.keyboard.type("reject")
    expect(palette.get_by_role("option").first).to_have_text("Go to the rejectionr")
    page.keyboard.press("Enter")
    expect(page.locator("#f-reason")).to_be_focused()  # it goes to the form; only the form decides
    page.keyboard.press("Control+k")
    page.keyboard.type("parcel")  # nothing here is called that, but lists can be searched
    expect(palette.get_by_role("option")).to_have_text(
        [f"Search the {what} for “parcel”" for what in ("questions", "runs", "effects")]
    )
    page.keyboard.press("Escape")
    expect(page.locator("#f-reason")).to_be_focused()
    page.keyboard.press("Control+k")
    page.keyboard.type("go runs")
    page.keyboard.press("Enter")
    page.wait_for_url("**/runs/")


def test_two_keys_in_a_row_go_places(who: factories.People, sit: Sit) -> None:
    page = sit(who.reviewer).go("/inbox/")
    page.keyboard.press("g")
    page.keyboard.press("r")
    page.wait_for_url("**/runs/")
    page.keyboard.press("g")
    page.keyboard.press("i")
    page.wait_for_url("**/inbox/")
    expect(page.get_by_role("heading", level=1)).to_have_text("Inbox")


def test_single_keys_can_be_switched_off(who: factories.People, sit: Sit) -> None:
    factories.held(who.operator)
    page = sit(who.reviewer).go("/inbox/")
    page.get_by_role("button", name="Keyboard shortcuts").first.click()
    page.locator("[data-keys-switch]").uncheck()
    page.keyboard.press("Escape")
    page.reload()
    page.keyboard.press("j")
    assert page.evaluate("document.activeElement.hasAttribute('data-row-link')") is False


def test_typing_never_fires_a_key(who: factories.People, sit: Sit) -> None:
    page = sit(who.reviewer).go(f"/reviews/{factories.held(who.operator).pk}/")
    page.keyboard.press("a")
    page.keyboard.type("aur jkn?")
    expect(page.locator("#f-approve-reason")).to_have_value("aur jkn?")
    expect(page.locator("#f-reason")).to_be_hidden()
    expect(page.locator("#keys")).to_be_hidden()


def test_an_approval_waits_until_the_arguments_were_on_the_screen(who: factories.People, sit: Sit) -> None:
    review = factories.held(who.operator)
    page = sit(who.reviewer, viewport={"width": 1280, "height": 260}).go(f"/reviews/{review.pk}/")
    button = page.locator("#approve [type=submit]")
    expect(button).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("End")  # to the end of the arguments, which isn't the end of the page
    expect(button).not_to_have_attribute("aria-disabled", "true")
    place = page.url
    page.goto("about:blank")
    page.goto(place)
    page.keyboard.press("a")
    page.keyboard.type("Read it.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("[data-must-see]")).to_be_focused()  # it leads there instead of sending
    expect(button).not_to_have_attribute("aria-disabled", "true")
    review.refresh_from_db()
    assert review.status == "open"
    page.locator("#f-approve-reason").press("Control+Enter")
    page.wait_for_url("**/?done=*")
    review.refresh_from_db()
    assert review.status == "approved"


def test_what_was_typed_survives_a_mistake_of_the_server(who: factories.People, sit: Sit) -> None:
    review = factories.held(who.operator)
    desk = sit(who.reviewer)
    page = desk.go(f"/reviews/{review.pk}/")
    broken: list[str] = []

    def fail_once(route: Route) -> None:
        if route.request.method == "POST" and not broken:
            broken.append(route.request.url)
            route.fulfill(status=500, body="<h1>Oh no</h1>", content_type="text/html")
        else:
            route.continue_()

    page.route("**/reviews/**", fail_once)
    page.keyboard.press("r")
    page.keyboard.type("Wrong address")
    page.keyboard.press("Control+Enter")
    expect(page.locator(".toast")).to_contain_text("could not answer (500)")
    expect(page.locator("#f-reason")).to_have_value("Wrong address")
    assert any("status of 500" in problem for problem in desk.problems)
    desk.problems.clear()
    page.get_by_role("button", name="Try again").click()
    page.wait_for_url("**/?done=*")
    review.refresh_from_db()
    assert review.status == "rejected"


def test_a_draft_comes_back_after_leaving(who: factories.People, sit: Sit) -> None:
    review = factories.held(who.operator)
    desk = sit(who.reviewer)
    page = desk.go(f"/reviews/{review.pk}/")
    page.on("dialog", lambda dialog: dialog.accept())
    page.keyboard.press("r")
    page.keyboard.type("Half a thought")
    desk.go("/inbox/")
    desk.go(f"/reviews/{review.pk}/")
    expect(page.locator("#f-reason")).to_have_value("Half a thought")
    # So do the fields of the edit page, and only those that were changed.
    desk.go(f"/reviews/{review.pk}/edit/")
    page.locator("form#edit").get_by_label("note", exact=False).first.fill("For the door")
    desk.go("/inbox/")
    desk.go(f"/reviews/{review.pk}/edit/")
    form = page.locator("form#edit")
    expect(form.get_by_label("note", exact=False).first).to_have_value("For the door")
    expect(form.get_by_label("name", exact=False).first).to_have_value("thing")


def test_the_theme_is_kept_and_drawn_by_the_server(who: factories.People, sit: Sit) -> None:
    desk = sit(who.reviewer)
    page = desk.go("/inbox/")
    page.locator("summary[aria-label^='Your account']").click()
    page.get_by_role("button", name="Dark").click()
    answer = page.reload()
    assert answer is not None
    assert 'data-theme="dark"' in answer.text()


def test_tabs_of_a_run_change_in_place_and_back_works(who: factories.People, sit: Sit) -> None:
    run = factories.held(who.operator).run
    desk = sit(who.reviewer, mouse=False)
    page = desk.go(f"/runs/{run.pk}/")
    plan = page.locator(".tabs").get_by_role("link", name="Plan")
    desk.tab_to(plan, "Enter")
    page.wait_for_url(f"**/runs/{run.pk}/plan/")
    expect(page.locator(".plan")).to_be_visible()
    expect(plan).to_be_focused()
    expect(page.locator(".tabs [aria-current]")).to_contain_text("Plan")
    page.go_back()
    page.wait_for_url(f"**/runs/{run.pk}/")
    expect(page.locator(".timeline")).to_be_visible()
