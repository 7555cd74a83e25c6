"""Taking an effect back, in every look and by hand: the form beside the effect, the question, the answer."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from runs import models
from tests import factories
from tests.browser.test_looks import WIDE, Sit, looks
from tests.engine.conftest import go, only_review, step
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)


def ended(run: models.Run, reviewer: models.User) -> models.Run:
    """The run once it has ended, however slow the machine is."""
    while through(run, reviewer).status == "queued":
        pass
    return run


def test_its_pages(who: factories.People, sit: Sit) -> None:
    """No barrier and no sideways scroll: the effects, the question about other arguments, going on from before it."""
    run = ended(factories.start(who.operator, step("back", "mail")), who.reviewer)
    action = models.Action.objects.get(run=run)
    edited = {(action.reply_position, action.call_index): {"name": "mail", "amount": "2.00"}}
    new = go(redrive(run, checkpoint(run, "before_irreversible"), who.operator, arguments=edited))
    paths = [
        f"/runs/{run.pk}/effects/",
        f"/runs/{run.pk}/redrive/?checkpoint=1",
        f"/reviews/{only_review(new).pk}/",
    ]
    desk = sit(who.admin, **WIDE)
    assert [words for path in paths for words in looks(desk, path)] == []


def test_from_the_button_to_undone(who: factories.People, sit: Sit) -> None:
    """By keys alone: one asks with a reason, another releases it, and the effect is shown as undone."""
    run = ended(factories.start(who.operator, step("back", "mail")), who.reviewer)
    olga, rita = sit(who.operator, mouse=False), sit(who.reviewer, mouse=False)
    page = olga.go(f"/runs/{run.pk}/effects/")
    olga.tab_to(page.locator("summary", has_text="Take it back…"), "Enter")
    olga.tab_to(page.get_by_label("Why?"))
    page.keyboard.type("Wrong customer")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("Asked for.")).to_be_visible()
    new = go(models.Run.objects.exclude(pk=run.pk).get())
    review = rita.go(f"/reviews/{only_review(new).pk}/")
    expect(review.get_by_text("asked for it: Wrong customer")).to_be_visible()
    rita.read()
    review.keyboard.press("a")
    review.keyboard.type("The customer is wrong indeed.")
    review.keyboard.press("Control+Enter")
    expect(review.locator("#done").get_by_text("Approved: This is taken back")).to_be_focused()
    assert go(new).status == "succeeded"
    page = olga.go(f"/runs/{run.pk}/effects/")
    expect(page.get_by_text("Undone")).to_be_visible()
    expect(page.get_by_role("link", name=f"run {new.pk}").first).to_be_visible()
