"""Changing the policy without a mouse: a rule is written, tried on the past, and put in force."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Route, expect

from runs import models
from tests import factories
from tests.browser.desk import Desk
from tests.browser.test_looks import STILL
from tests.engine.conftest import answer, go

pytestmark = pytest.mark.django_db(transaction=True)
Sit = Callable[..., Desk]


def test_a_rule_is_written_tried_on_the_past_and_put_in_force(who: factories.People, sit: Sit) -> None:
    review = factories.held(who.operator, name="parcel")
    answer(review, who.reviewer, "reject")
    go(review.run)
    desk = sit(who.admin, **STILL)
    page = desk.go("/inbox/")
    page.keyboard.press("g")
    page.keyboard.press("p")
    expect(page.get_by_role("heading", level=1)).to_have_text("Policy")
    page.keyboard.press("e")
    expect(page.get_by_role("heading", level=1)).to_have_text("Change the policy")
    page.get_by_role("button", name="Add a rule").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#f-rule")).to_be_focused()
    page.keyboard.press("Tab")
    page.keyboard.type("No parcels")
    page.get_by_label("Tool", exact=True).focus()
    page.keyboard.type("world.lookup")
    page.get_by_label("It is refused").focus()
    page.keyboard.press("Space")
    expect(page.get_by_label("How many people")).to_be_hidden()
    page.get_by_label("Condition").focus()
    page.keyboard.type("args.name == parcel")
    page.keyboard.press("Tab")
    expect(page.locator("#policy-notes")).to_contain_text("match.when speaks of 'parcel'")
    page.get_by_label("Condition").fill("args.name == 'parcel'")
    page.keyboard.press("Tab")
    expect(page.locator("#policy-notes")).to_contain_text("“No parcels”")
    for number in (5, 4, 3, 2):
        page.get_by_role("button", name=f"Rule {number} earlier").focus()
        page.keyboard.press("Enter")
        expect(page.locator(f"#rule-{number - 1} .rule-name")).to_have_text("No parcels")
        if number > 2:
            expect(page.get_by_role("button", name=f"Rule {number - 1} earlier")).to_be_focused()
    assert desk.violations() == []
    page.get_by_role("button", name="Try it on the past").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#tried-title")).to_be_focused()
    expect(page.locator("#tried-title")).to_contain_text("refuse 1 instead of 0")
    page.get_by_role("button", name="Put it in force").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Please check this")).to_be_focused()
    page.get_by_label("Why").focus()
    page.keyboard.type("Parcels get lost.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#main").get_by_text("Version 2 of the policy is in force.")).to_be_visible()
    newest = models.PolicyVersion.objects.get(number=2)
    assert newest.rules["rules"][0] == {
        "name": "No parcels",
        "verdict": "deny",
        "match": {"tool": "world.lookup", "when": "args.name == 'parcel'"},
    }
    assert desk.problems == []


def test_what_is_typed_while_the_form_is_drawn_anew_is_not_lost(who: factories.People, sit: Sit) -> None:
    desk = sit(who.admin, **STILL)
    page = desk.go("/policies/edit/")
    page.get_by_role("button", name="Add a rule").click()
    expect(page.locator("#f-rule")).to_be_focused()
    page.get_by_label("Name").fill("No parcels")
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    page.route("**/policies/edit/", hold)
    page.get_by_label("Name").press("Enter")  # looks at all of it
    page.get_by_label("Name").fill("No parcels at all")
    page.get_by_label("It is refused").check()
    assert held
    page.evaluate("document.querySelector('#policy').dataset.old = 'yes'")
    for route in held:  # the answer knows nothing of that
        route.continue_()
    page.unroute("**/policies/edit/")
    expect(page.locator("#policy:not([data-old])")).to_be_attached()
    expect(page.get_by_label("Name")).to_have_value("No parcels at all")
    expect(page.get_by_label("It is refused")).to_be_checked()
    expect(page.locator("#policy-notes")).to_contain_text("“No parcels at all”")
    assert desk.problems == []
