"""Signing in as a person does: by a password, an app's codes, a passkey; and once more at something final."""

from __future__ import annotations

import datetime
import re
import time
from collections.abc import Callable

from allauth.mfa.totp.internal import auth as totp
from django.core.cache import cache
from django.db.models import F
from playwright.sync_api import Page, expect

from runs import models
from tests import factories
from tests.browser.desk import Desk

Sit = Callable[..., Desk]
TOUCH_ID = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def code(secret: str, *, step: int = 0) -> str:
    """Return what the app shows now, or so many half minutes from now."""
    return str(totp.format_hotp_value(totp.hotp_value(secret, int(time.time()) // 30 + step)))


def sign_in(page: Page) -> None:
    """Type name and password, by keyboard alone."""
    expect(page.get_by_label("User name")).to_be_focused()
    page.keyboard.type("paula")
    page.keyboard.press("Tab")
    page.keyboard.type(factories.PASSWORD)
    page.keyboard.press("Enter")


def sign_out(page: Page) -> None:
    """Sign out by the menu."""
    page.get_by_label("Your account").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_role("heading", name="Sign in")).to_be_visible()


def fine(desk: Desk, title: str) -> None:
    """The page is the one that is meant, and nothing on it is amiss."""
    expect(desk.page.get_by_role("heading", level=1, name=title)).to_be_visible()
    assert desk.violations() == []
    assert desk.sideways() <= 0


def app_set_up(desk: Desk) -> str:
    """Return the secret of an app that is set up from the security page."""
    desk.go("/settings/security/")
    fine(desk, "Security")
    desk.page.get_by_role("link", name="Set up an app").click()
    fine(desk, "Set up an app")
    expect(desk.page.locator(".qr")).to_have_css("background-color", "rgb(255, 255, 255)")  # a phone reads it
    secret = desk.page.locator("#secret").inner_text()
    desk.page.get_by_label("The code that it shows now").fill(code(secret))
    desk.page.keyboard.press("Enter")
    fine(desk, "Recovery codes")
    assert len(re.findall(r"\d{8}", desk.page.locator("#codes").inner_text())) == 10
    return secret


def test_a_password_then_codes_then_a_passkey(who: factories.People, sit: Sit) -> None:
    factories.person("paula", "reviewer", password=factories.PASSWORD)
    review = factories.held(who.operator, tool="costly", name="fee")
    desk = sit(viewport={"width": 360, "height": 800})
    desk.server = desk.server.replace("127.0.0.1", "localhost")  # a passkey is for a name
    page = desk.page
    devices = desk.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": TOUCH_ID})

    # In with the password alone; an app is set up, which gives recovery codes too.
    desk.go(f"/login/?next=/reviews/{review.pk}/")
    fine(desk, "Sign in")
    sign_in(page)
    expect(page.get_by_label("Type this again")).to_be_visible()
    secret = app_set_up(desk)

    # Out, and in with a code.
    sign_out(page)
    desk.go("/login/")
    sign_in(page)
    fine(desk, "Second factor")
    page.keyboard.type(code(secret, step=1))
    page.keyboard.press("Enter")
    page.wait_for_url("**/inbox/")

    # A passkey, and in with it alone.
    desk.go("/settings/security/passkey/")
    fine(desk, "Add a passkey")
    page.get_by_label("Name").fill("This computer")
    page.get_by_role("button", name="Make the passkey").click()
    expect(page.get_by_role("rowheader", name="This computer")).to_be_visible()
    desk.go("/settings/sessions/")
    fine(desk, "Sessions")
    sign_out(page)
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url("**/inbox/")
    assert models.AuditEvent.objects.latest("seq").content == {"shown": ["passkey"]}

    # A quarter of an hour later something final asks again; what was typed goes on from there.
    models.Session.objects.update(proved_at=F("proved_at") - datetime.timedelta(minutes=16))
    cache.clear()
    desk.go(f"/reviews/{review.pk}/")
    page.get_by_label("Say what you checked").fill("As agreed on the phone.")
    page.get_by_label("Type this again").fill("1.00")
    page.keyboard.press("Control+Enter")
    fine(desk, "Show that it is you")
    page.get_by_role("link", name="Use a passkey").click()
    page.get_by_role("button", name="Use a passkey").click()
    page.wait_for_url("**/inbox/?done=*")
    decision = models.Decision.objects.get(review=review)
    assert (decision.person.username, decision.reason) == ("paula", "As agreed on the phone.")
    assert page.evaluate("Object.keys(sessionStorage).filter(name => name.startsWith('draft:'))") == []
    assert desk.problems == []
