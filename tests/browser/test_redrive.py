"""Runs that failed after a letter went out go on, and nobody gets a second letter."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from runs import models
from runs.tools import contract
from tests import factories
from tests.browser.desk import Desk
from tests.engine.conftest import go, step
from tests.engine.world import Look, World
from tests.rules.branching import through

pytestmark = pytest.mark.django_db(transaction=True)
Sit = Callable[..., Desk]


def test_redrive_the_failed_runs_so_that_nobody_gets_a_second_letter(who: factories.People, sit: Sit) -> None:
    """By keys alone: one goes on with the input put right, from before its letter; all others of its cause at once."""
    Look.failures = [contract.DidNotHappen("There is no such customer.") for _ in range(3)]
    steps = [step("lookup", "letter"), {**step("look"), "with": {"name": "${input.customer}"}}]
    others = [
        through(factories.start(who.operator, *steps, given={"customer": "Nordwind"}), who.reviewer)
        for _ in range(2)
    ]
    run = through(factories.start(who.operator, *steps, given={"customer": "Nordwin"}), who.reviewer)
    desk = sit(who.operator, mouse=False)
    page, press, write = desk.go("/runs/?only=failed"), desk.press, desk.page.keyboard.type
    press("j", "Enter")
    expect(page.get_by_role("heading", name="Why it failed")).to_be_visible()
    desk.tab_to(page.get_by_role("link", name="Go on from a checkpoint…"), "Enter")
    expect(page.locator("#main").get_by_text("failed: There is no such customer.")).to_be_visible()
    desk.tab_to(page.get_by_label("Checkpoint", exact=True))
    write("2")  # from before the letter, on purpose
    desk.tab_to(page.get_by_role("button", name="Show what this means"), "Enter")
    letter = page.locator("li", has_text="Will do letter.")
    expect(letter.get_by_label("Stays done")).to_be_checked()
    expect(page.locator("#main").get_by_text("Stands already: not done a second time")).to_be_visible()
    desk.tab_to(page.get_by_label("Customer"))
    press("Control+a")
    desk.send("Nordwind")
    expect(page.get_by_role("heading", name="Please check this")).to_be_focused()
    press("a")
    expect(page.get_by_label("Why?")).to_be_focused()
    desk.send("The name was misspelt.")
    expect(page.locator("#main").get_by_text("goes on from checkpoint 2")).to_be_visible()
    new = models.Run.objects.get(root=run, superseded_by=None)
    assert (go(new).status, new.input) == ("succeeded", {"customer": "Nordwind"})
    page.reload()
    expect(
        page.locator("#main").get_by_role("link", name=re.compile("^A later attempt of run"))
    ).to_be_visible()

    desk.go("/runs/?only=failed")
    desk.tab_to(page.get_by_role("link", name="failed: There is no such customer."), "Enter")
    desk.tab_to(page.get_by_role("link", name="Go on with all of this cause…"), "Enter")
    expect(page.get_by_role("checkbox")).to_have_count(2)
    press("a", "Control+Enter")
    expect(page.get_by_role("heading", name="Please check this")).to_be_focused()
    press("a")
    desk.send("The list is there now.")
    expect(page.get_by_role("heading", name="2 of 2 go on")).to_be_focused()
    for other in others:
        assert go(models.Run.objects.get(root=other, superseded_by=None)).status == "succeeded"
    assert [line["name"] for line in World.effects()] == ["letter"] * 3
