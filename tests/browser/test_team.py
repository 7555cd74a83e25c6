"""The team without a mouse: somebody is invited, gets another role, and is limited to what is theirs."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from runs import models
from tests import factories
from tests.browser.desk import Desk
from tests.browser.test_looks import STILL

pytestmark = pytest.mark.django_db(transaction=True)
Sit = Callable[..., Desk]


def test_somebody_is_invited_gets_another_role_and_sees_one_agent(who: factories.People, sit: Sit) -> None:
    factories.held(who.operator)
    desk = sit(who.admin, **STILL)
    page = desk.go("/inbox/")
    desk.press("g", "t")
    expect(page.get_by_role("heading", level=1)).to_have_text("Team")
    desk.tab_to(page.locator("#invite > summary"), "Enter")
    desk.tab_to(page.get_by_label("User name"))
    page.keyboard.type("nina")
    desk.tab_to(page.locator("#invite input[value=reviewer]"), "Space", "Control+Enter")
    expect(page.locator("#made-title")).to_be_focused()
    expect(page.locator("#made-title")).to_have_text("nina can join")
    desk.tab_to(page.get_by_role("link", name="Change nina"), "Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("nina")
    assert desk.violations() == []
    desk.tab_to(page.locator("input[name=groups][value=operator]"), "Space", "Control+Enter")
    expect(page.locator("#main").get_by_text("Changed. It is in force now.")).to_be_visible()
    nina = models.User.objects.get(username="nina")
    assert nina.roles() == {"reviewer", "operator"}
    desk.tab_to(page.locator("input[name=agents]").first, "Space", "Control+Enter")
    expect(page.locator("#main").get_by_text("Limited. It is in force now.")).to_be_visible()
    assert models.Scope.objects.filter(person=nina).count() == 1
    desk.press("u")
    expect(page.get_by_role("heading", level=1)).to_have_text("Team")
    assert desk.problems == []
