"""Looking closely at runs: the pages in every look, and the way from a failure to a better attempt by keys."""

from __future__ import annotations

import json

import pytest
from playwright.sync_api import expect

from runs import models
from runs.selectors import failures
from runs.transitions import branches
from runs.transitions.actor import Actor
from tests import factories
from tests.browser.test_looks import SIZES, Sit, flawless, looks
from tests.engine.conftest import go, step
from tests.rules.branching import checkpoint, through

pytestmark = pytest.mark.django_db(transaction=True)


def scene(who: factories.People) -> tuple[models.Run, models.Run, models.Run]:
    """Return a run that did two things, a dry run beside it, and one that failed."""
    steps = [step("look", "it"), step("allowed", "draft"), step("lookup", "mail")]
    run = through(factories.start(who.operator, *steps), who.reviewer)
    by = Actor(user=who.operator)
    dry = branches.fork(run.pk, checkpoint=checkpoint(run, "planned"), reason="x", by=by, token="looks")
    return run, go(dry), factories.failed(who.operator)


@pytest.mark.parametrize("size", SIZES)
def test_its_pages(size: str, who: factories.People, sit: Sit) -> None:
    """No barrier and no sideways scroll."""
    run, dry, failed = scene(who)
    waiting, last = checkpoint(run, "waiting"), run.checkpoint_number
    paths = [
        f"/runs/{run.pk}/checkpoints/",
        f"/runs/{run.pk}/transcript/?q=mail",
        f"/runs/{run.pk}/transcript/?q=nowhere",
        f"/runs/{run.pk}/checkpoints/{last}/",
        f"/runs/{run.pk}/checkpoints/{waiting}/",
        f"/runs/{run.pk}/diff/?a={waiting}&b={last}",
        f"/runs/{run.pk}/diff/?a={waiting}&b={last}&view=split",
        f"/runs/{run.pk}/diff/?a=1&b=1",
        f"/runs/{failed.pk}/?only=failures",
        f"/runs/{run.pk}/?only=failures",
        f"/runs/{dry.pk}/",
        f"/compare/?a={run.pk}&b={dry.pk}",
        "/compare/",
        "/effects/",
        "/effects/?state=undone",
    ]
    demo = go(factories.demo_run(who.operator))
    paths += [f"/runs/{demo.pk}/", f"/runs/{demo.pk}/transcript/"]  # with a file and the head of its table
    desk = sit(who.admin, **SIZES[size])
    assert [looks(desk, path) for path in paths] == [flawless(path) for path in paths]


def test_from_a_failure_to_a_better_attempt(who: factories.People, sit: Sit) -> None:
    """By keys alone: what was good last, what that step changed, and a dry run that went better is taken over."""
    failed = factories.failed(who.operator)
    good = failures.last_good(failed) or 0
    by = Actor(user=who.operator)
    dry = go(branches.fork(failed.pk, checkpoint=good, reason="The file is there now.", by=by, token="dry"))
    assert dry.status == "succeeded", dry.error
    desk = sit(who.operator, permissions=["clipboard-read", "clipboard-write"])
    page, press = desk.page, desk.page.keyboard.press

    desk.go("/runs/?only=failed")
    press("j")
    press("Enter")
    expect(page.get_by_role("heading", name="Why it failed")).to_be_visible()
    press("l")
    expect(page.get_by_role("heading", name=f"Checkpoint {good} of")).to_be_visible()
    press("d")
    expect(page.get_by_role("heading", name="difference")).to_be_visible()
    press("y")
    expect(page.locator("#status")).to_have_text("Copied.")
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
