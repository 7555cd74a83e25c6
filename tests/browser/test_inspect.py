"""Looking closely at runs: the pages in every look, and the way from a failure to a better attempt by keys."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from runs import models
from runs.selectors import failures
from runs.transitions import branches
from runs.transitions.actor import Actor
from tests import factories, inspecting
from tests.browser.test_looks import WIDE, Sit, looks
from tests.engine.conftest import go

pytestmark = pytest.mark.django_db(transaction=True)


def test_its_pages(who: factories.People, sit: Sit) -> None:
    """No barrier and no sideways scroll."""
    paths, desk = inspecting.paths(who), sit(who.admin, **WIDE)
    assert [words for path in paths for words in looks(desk, path)] == []


def test_from_a_failure_to_a_better_attempt(who: factories.People, sit: Sit) -> None:
    """By keys alone: what was good last, what that step changed, and a dry run that went better is taken over."""
    failed = factories.failed(who.operator)
    good = failures.last_good(failed) or 0
    by = Actor(user=who.operator)
    dry = go(branches.fork(failed.pk, checkpoint=good, reason="The file is there now.", by=by, token="dry"))
    assert dry.status == "succeeded", dry.error
    desk = sit(who.operator, mouse=False, permissions=["clipboard-read", "clipboard-write"])
    page, press = desk.page, desk.press

    desk.go("/runs/?only=failed")
    press("j")
    press("Enter")
    expect(page.get_by_role("heading", name="Why it failed")).to_be_visible()
    press("l")
    expect(page.get_by_role("heading", name=f"Checkpoint {good} of")).to_be_visible()
    press("d")
    expect(page.get_by_role("heading", name="difference")).to_be_visible()
    press("s")
    expect(page.locator(".diff-split").first).to_be_visible()
    press("s")
    expect(page.locator(".diff-split")).to_have_count(0)
    status = page.locator("#status")
    for _ in range(50):  # what copies is fetched once the page is there
        press("y")
        if status.text_content() == "Copied.":
            break
        page.wait_for_timeout(100)
    expect(status).to_have_text("Copied.")
    patch = json.loads(page.evaluate("navigator.clipboard.readText()"))
    assert {change["op"] for change in patch} <= {"add", "remove", "replace"}
    assert patch

    desk.go(f"/runs/{dry.pk}/")
    press("v")
    expect(page.get_by_text("Here they part")).to_be_visible()
    press("t")
    expect(page.get_by_label("Why?")).to_be_focused()
    page.keyboard.type("It works now.")
    press("Control+Enter")
    expect(page.locator("#main").get_by_text(f"takes dry run {dry.pk} over")).to_be_visible()
    new = models.Run.objects.get(root=failed, mode="live", superseded_by=None)
    assert (new.path, page.url.rstrip("/").endswith(f"/runs/{new.pk}")) == (dry.path, True)
    assert go(new).status == "succeeded"
