"""Changing what is asked: the wrong address found, put right and sent by keys alone; rows of a list without scripts."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.conf import settings
from playwright.sync_api import expect

from runs import models
from tests import factories
from tests.browser.desk import Desk
from tests.engine.conftest import go
from tests.forms import order

pytestmark = pytest.mark.django_db(transaction=True)
Sit = Callable[..., Desk]


def test_the_wrong_address_is_put_right_and_sent_by_keys_alone(who: factories.People, sit: Sit) -> None:
    """Find the mail to Rowan Tools, open its fields with `e`, correct address and text, save, read again, approve."""
    run = go(factories.demo_run(who.operator))
    desk = sit(who.reviewer, mouse=False)
    page = desk.go("/inbox/")
    rowan = page.locator("[data-row]", has_text="office.rowan@example.com")
    expect(rowan).to_have_count(1)
    while not rowan.evaluate("row => row.contains(document.activeElement)"):
        page.keyboard.press("j")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("office.rowan@example.com")
    page.keyboard.press("e")
    expect(page.get_by_role("heading", level=1)).to_have_text("Edit arguments")

    to, body = page.get_by_label("To", exact=True), page.get_by_label("Body", exact=True)
    desk.tab_to(to)
    page.keyboard.press("Control+a")
    page.keyboard.type("accounts rowan.example")
    desk.tab_to(body)
    # While one goes on to the next field, the tool has looked at this one; nothing that is typed is lost.
    expect(page.locator("#edit-notes")).to_contain_text("To: ")
    expect(to).to_have_attribute("aria-invalid", "true")
    expect(body).to_be_focused()
    page.keyboard.press("Control+End")
    page.keyboard.type("\nWe had your old address.")
    desk.tab_to(to, back=True)
    page.keyboard.press("Control+a")
    page.keyboard.type("accounts@rowan.example")
    expect(to).not_to_have_attribute("aria-invalid", "true")  # at once, not only when one goes on
    expect(to).to_be_focused()
    desk.tab_to(page.get_by_label("Why"))
    expect(page.locator("#edit-notes")).to_contain_text("We had your old address.")
    expect(page.locator("#edit-notes ins").first).to_be_visible()
    page.keyboard.type("Their address is another one now.")
    page.keyboard.press("Control+Enter")
    expect(
        page.locator("#main").get_by_text("What will happen is being worked out anew").first
    ).to_be_visible()
    expect(page.locator("h1:focus, [data-focus]:focus")).to_have_count(1)

    run = go(run)  # the page shows by itself what it waited for
    expect(page.get_by_role("heading", level=1)).to_contain_text("accounts@rowan.example")
    expect(page.locator("#main").get_by_text("Changed by reviewer-1")).to_be_visible()
    desk.read()
    page.keyboard.press("a")
    page.keyboard.type("The new address is in their signature.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#main").get_by_text("Approved:").first).to_be_visible()
    models.Action.objects.filter(run=run).update(not_before=None)
    go(run)
    mails = [path.read_text() for path in settings.CKPTSITE_MAIL_DIR.glob("*.eml")]
    assert [
        mail for mail in mails if "To: accounts@rowan.example" in mail and "We had your old address." in mail
    ]
    assert not [mail for mail in mails if "office.rowan" in mail]


def test_rows_without_javascript(who: factories.People, sit: Sit) -> None:
    """Each button of the form is a plain submit: a row more, one less, one moved, nothing typed is lost, then saved."""
    review = order.asked(who.operator)
    page = sit(who.reviewer, java_script_enabled=False).go(f"/reviews/{review.pk}/")
    page.get_by_role("link", name="Edit arguments").click()
    page.get_by_label("To", exact=True).fill("right@example.org")
    page.get_by_role("button", name="Add to Lines").click()
    third = page.get_by_role("group", name="Row 3")
    third.get_by_label("Article").fill("pens")
    third.get_by_label("Count").fill("12")
    page.get_by_role("button", name="Remove Row 1").click()
    page.get_by_role("button", name="Row 2 up").click()
    note = page.get_by_label("Note", exact=True)
    expect(note).to_be_hidden()
    page.get_by_label("Note: given as").select_option(label="Text")
    expect(note).to_be_visible()  # by style alone
    note.fill("By courier, please.")
    page.get_by_label("Count", exact=True).first.fill("none")
    page.get_by_role("button", name="Save the change").click()
    expect(page.get_by_role("link", name="Count: Write a number, such as 12 or 12.50.")).to_be_visible()
    page.get_by_label("Count", exact=True).first.fill("10")
    page.get_by_label("Why").fill("More pens.")
    page.get_by_role("button", name="Save the change").click()
    expect(page.get_by_text("What will happen is being worked out anew").first).to_be_visible()
    go(review.run)
    now = models.Action.objects.get(run=review.run).arguments()
    assert (now["to"], now["note"]) == ("right@example.org", "By courier, please.")
    assert now["lines"] == [{"article": "pens", "count": 10}, {"article": "ink", "count": 1}]
