"""A run that failed after a letter went out goes on, and nobody gets a second letter."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from runs import models
from tests import factories
from tests.browser.desk import Desk
from tests.engine.conftest import go
from tests.engine.world import World
from tests.pages.test_redrive import failed_after_a_letter

pytestmark = pytest.mark.django_db(transaction=True)
Sit = Callable[..., Desk]


def test_redrive_the_failed_run_so_that_nobody_gets_a_second_letter(who: factories.People, sit: Sit) -> None:
    run = failed_after_a_letter(who)
    page = sit(who.operator).go("/runs/?only=failed")
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Why it failed")).to_be_visible()
    page.get_by_role("link", name="Go on from a checkpoint…").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#main").get_by_text("“Do file” failed: The file is not there.")).to_be_visible()
    page.get_by_label("Checkpoint", exact=True).select_option(value="2")  # from before the letter, on purpose
    page.get_by_role("button", name="Show what this means").press("Enter")
    letter = page.locator("li", has_text="Will do letter.")
    expect(letter.get_by_label("Stays done")).to_be_checked()
    expect(page.locator("#main").get_by_text("Stands already: not done a second time")).to_be_visible()
    page.keyboard.press("a")
    expect(page.get_by_label("Why?")).to_be_focused()
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Please check this")).to_be_visible()
    page.keyboard.press("a")
    page.keyboard.type("The file is there now.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#main").get_by_text("goes on from checkpoint 2")).to_be_visible()
    new = models.Run.objects.exclude(pk=run.pk).get()
    assert go(new).status == "succeeded"
    page.reload()
    expect(
        page.locator("#main").get_by_role("link", name=re.compile("^A later attempt of run"))
    ).to_be_visible()
    assert [line["name"] for line in World.effects()] == ["letter", "note"]
