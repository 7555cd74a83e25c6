"""Making a token by keyboard, reading it once, and revoking it."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from runs import models
from tests import factories
from tests.browser.desk import Desk

pytestmark = pytest.mark.django_db(transaction=True)

Sit = Callable[..., Desk]


def test_a_token_is_made_shown_once_and_revoked(who: factories.People, sit: Sit) -> None:
    """The whole way by keys; the secret is on one page only, and revoked it opens nothing."""
    desk = sit(
        who.operator, reduced_motion="reduce", viewport={"width": 360, "height": 740}, color_scheme="dark"
    )
    page = desk.go("/settings/")
    page.get_by_role("link", name="API tokens").first.press("Enter")
    page.get_by_role("textbox", name="Name").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Please check this")).to_be_visible()
    page.get_by_role("textbox", name="Name").focus()
    page.keyboard.type("Nightly invoices")
    page.get_by_label("Stop runs").press("Space")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="The token of “Nightly invoices”")).to_be_focused()
    secret = page.locator("#secret").inner_text()
    assert re.fullmatch(r"ckpt_[\w-]{43}", secret)
    assert (desk.violations(), desk.sideways()) == ([], 0)
    opened = {"Authorization": f"Bearer {secret}"}
    assert page.request.get(f"{desk.server}/api/v1/me", headers=opened).json()["may"] == [
        "view",
        "start",
        "stop",
    ]

    page = desk.go("/settings/tokens/")
    expect(page.locator("main")).not_to_contain_text(secret)
    page.locator("summary", has_text="Revoke Nightly invoices…").press("Enter")
    page.get_by_role("button", name="Revoke it").press("Enter")
    expect(page.get_by_text("It opens nothing any more.")).to_be_visible()
    expect(page.get_by_role("row", name="Nightly invoices")).to_contain_text("Revoked by operator-1")
    assert page.request.get(f"{desk.server}/api/v1/me", headers=opened).status == 401
    assert [desk.violations(), desk.sideways()] == [[], 0]
    told = models.AuditEvent.objects.filter(act__startswith="token.").order_by("seq")
    assert list(told.values_list("act", "channel")) == [("token.created", "page"), ("token.revoked", "page")]
