"""An agent made field by field without a mouse; what was typed is there again after the session has ended."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from runs import models
from tests import factories
from tests.browser.desk import Desk
from tests.browser.test_looks import STILL

pytestmark = pytest.mark.django_db(transaction=True)
Sit = Callable[..., Desk]


def typed(page: Page, label: str, text: str) -> None:
    field = page.get_by_label(label, exact=True)
    field.focus()
    page.keyboard.press("Control+A")
    page.keyboard.type(text)


def press(page: Page, name: str) -> None:
    page.get_by_role("button", name=name).focus()
    page.keyboard.press("Enter")


def tick(page: Page, label: str) -> None:
    page.get_by_label(label).focus()
    page.keyboard.press("Space")


def start_over(page: Page) -> None:
    """Type something else, and let it be."""
    typed(page, "Title", "Dunning")
    page.keyboard.press("Enter")
    page.get_by_role("link", name="Start over").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Title", exact=True)).to_have_value("Reminders")


def test_an_agent_is_made_by_keyboard_and_no_draft_is_lost(who: factories.People, sit: Sit) -> None:
    desk = sit(who.admin, **STILL)
    page = desk.go("/agents/")
    page.keyboard.press("c")
    expect(page.get_by_role("heading", level=1)).to_have_text("New agent")
    typed(page, "Title", "Reminders")
    notes = page.locator("#agent-notes")
    expect(notes).to_contain_text("Choose whose model it is")
    page.keyboard.press("Enter")  # in a field: what doesn't fit is said, nothing is kept
    expect(page.get_by_role("heading", name="Please check this")).to_be_focused()
    expect(page.get_by_label("Name", exact=True)).to_have_value("reminders")
    typed(page, "Turns: One run", "many")
    expect(page.locator("#budget-steps-note")).to_contain_text("a whole number")
    expect(page.get_by_label("Turns: One run")).to_have_attribute("aria-invalid", "true")
    typed(page, "Turns: One run", "12")
    expect(page.locator("#budget-steps-note .error")).to_have_count(0)
    tick(page, "Read a CSV file")
    expect(page.locator(".agent-ticked").filter(has_text="1 chosen")).to_have_count(1)
    press(page, "Add a field to the input")
    expect(page.get_by_label("Label")).to_be_focused()
    with page.expect_response("**/agents/new/"):
        page.keyboard.type("Customer")
    assert desk.violations() == []

    # The session ends: what was typed and ticked is there again, also what was not looked at yet.
    models.Session.objects.all().delete()
    tick(page, "Send an e-mail")
    page.wait_for_url("**/login/?*")
    desk.sign_in(who.admin)
    desk.go("/agents/new/")
    expect(page.get_by_label("Label")).to_have_value("Customer")
    expect(page.get_by_label("Title", exact=True)).to_have_value("Reminders")
    expect(page.get_by_label("Read a CSV file")).to_be_checked()
    expect(page.get_by_label("Send an e-mail")).to_be_checked()
    expect(page.get_by_label("Turns: One run")).to_have_value("12")

    page.get_by_label("Whose model").focus()
    page.keyboard.press("a")
    typed(page, "Model", "claude-small")
    press(page, "YAML")
    expect(page.locator("#f-tab")).to_be_focused()
    expect(page.get_by_role("textbox", name="The agent, as YAML")).to_have_value(
        'name: reminders\ntitle: Reminders\nprovider: llm\nmodel: anthropic:claude-small\ninstructions: ""\n'
        "tools:\n- files.read_csv\n- email.send\nbudget:\n  steps: 12\n  calls: 100\n  cost_micro: 1000000\n"
        "input:\n  type: object\n  additionalProperties: false\n  properties:\n    customer:\n      type: string\n"
        "      title: Customer\ndefinition: {}\n"
    )
    press(page, "Form")
    expect(page.locator("#f-tab")).to_be_focused()
    expect(page.get_by_label("Model", exact=True)).to_have_value("claude-small")
    typed(page, "Why needed", "Letters by hand take too long.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#main").get_by_text("Version 1 of reminders is kept.")).to_be_visible()
    assert models.Agent.objects.get(name="reminders").current is not None
    start_over(desk.go("/agents/reminders/edit/"))
    assert page.evaluate("Object.keys(sessionStorage).filter(name => name.startsWith('draft:'))") == []
    assert desk.problems == []
