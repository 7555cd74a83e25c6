"""Being told: somebody sets when they may be called, tries it, and reads what they were told."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.conf import settings
from playwright.sync_api import expect

from runs import models
from runs.engine import delivering
from runs.transitions import notices
from tests import factories
from tests.browser.desk import Desk

pytestmark = pytest.mark.django_db(transaction=True)


def told() -> None:
    """Do what the clock and a worker do."""
    while notices.spread():
        pass
    delivering.work(stopping=lambda: False)


def test_quiet_hours_a_test_and_the_list_by_keyboard(who: factories.People, sit: Callable[..., Desk]) -> None:
    who.reviewer.email = "rhea@example.com"
    who.reviewer.save()
    review = factories.held(who.operator, tool="costly")
    told()
    page = sit(who.reviewer).go("/settings/notifications/")
    page.get_by_label("Tier 3, E-mail").select_option("off")
    page.get_by_label("Quiet from").fill("22:00")
    page.get_by_label("Your time zone").fill("Europe/Berlin")
    page.keyboard.press("Control+Enter")
    wrong = page.get_by_role("heading", name="Please check this")
    expect(wrong).to_be_focused()  # an end is missing, and nothing that was typed is lost
    expect(page.get_by_label("Your time zone")).to_have_value("Europe/Berlin")
    page.get_by_label("until").fill("07:00")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Saved. It counts for whatever happens from now on.")).to_be_visible()
    chosen = models.NoticeSettings.objects.get(person=who.reviewer)
    assert (chosen.zone, chosen.ways["tier3"]["email"]) == ("Europe/Berlin", "off")

    page.get_by_role("button", name="Test e-mail").press("Enter")
    expect(page.get_by_text("A test is on its way: E-mail.")).to_be_visible()
    told()
    page.reload()
    expect(page.get_by_text("A test · Sent")).to_be_visible()
    page.get_by_label("Your account").press("Enter")
    page.get_by_role("link", name="Notices 1 new").press("Enter")
    page.get_by_role("button", name="All of it is read").press("Enter")
    expect(page.get_by_role("button", name="All of it is read")).to_have_count(0)
    page.get_by_role("link", name="An action waits to be released").press("Enter")
    expect(page).to_have_url(f"{page.url.split('/reviews/')[0]}/reviews/{review.pk}/")
    for letter in settings.CKPTSITE_NOTICES_DIR.iterdir():
        letter.unlink()
