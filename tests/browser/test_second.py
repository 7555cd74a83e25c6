"""Something that was done before is about to be done once more: a reviewer sees that first, and keeps what was done."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests import factories
from tests.browser.desk import Desk
from tests.engine.conftest import go
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Sit = Callable[..., Desk]


def test_keep_what_was_done_so_that_nothing_goes_out_twice(who: factories.People, sit: Sit) -> None:
    """By keys alone: the row is marked, the page says on top what differs, no answer is open, and k keeps it."""
    review = factories.second(who)
    desk = sit(who.reviewer, mouse=False)
    page = desk.go("/inbox/")
    expect(page.locator("[data-row]")).to_contain_text("Maybe a second one")
    desk.press("j", "Enter")
    mark = page.locator(".tone-bad", has_text="The same was done before, with other arguments")
    expect(mark).to_contain_text("1.00 → 2.00")
    expect(page.locator("#decide details[open]")).to_have_count(0)
    desk.press("k")
    expect(page.locator("#keep").get_by_label("Reason")).to_be_focused()
    desk.press("Control+Enter")
    expect(page.get_by_role("heading", name="Please check this")).to_be_focused()
    desk.press("k")
    desk.send("It was sent with the right sum.")
    expect(
        page.locator("#main").get_by_text("What was done before is kept, and this is not done")
    ).to_be_visible()
    assert go(review.run).status == "succeeded"
    assert len(World.effects("parcel")) == 1
