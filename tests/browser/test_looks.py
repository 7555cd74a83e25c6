"""Every page in every state, light and dark, wide and narrow: no barrier, no error, no sideways scroll."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal

import pytest

from runs import causes, models
from runs.transitions import desk as acts
from runs.transitions.actor import Actor
from tests import factories
from tests.browser.desk import OF_COLOURS, OF_SIZE, Desk
from tests.forms import order
from tests.pages import test_questions as questions
from tests.pages.test_pages import HIDDEN

pytestmark = pytest.mark.django_db(transaction=True)

Sit = Callable[..., Desk]

# Halfway through a fade nothing has its contrast.
STILL: dict[str, Any] = {"reduced_motion": "reduce"}
COLOURS: tuple[Literal["light", "dark"], ...] = ("light", "dark")
SIZES: dict[str, dict[str, Any]] = {
    "wide": {"viewport": {"width": 1280, "height": 900}, **STILL},
    "narrow": {"viewport": {"width": 360, "height": 740}, **STILL, "has_touch": True},
}
Look = tuple[str, str, list[str], int]


def looks(desk: Desk, path: str) -> list[Look]:
    """Return what is wrong with the look of a page, light and dark: barriers, and pixels of sideways scroll."""
    page = desk.go(path)
    page.evaluate(
        "document.querySelectorAll('details:not([name]):not(.menu)').forEach(part => { part.open = true; })"
    )
    size = page.viewport_size
    narrow = size is not None and size["width"] < 600
    found: list[Look] = []
    for colours in COLOURS:
        page.emulate_media(color_scheme=colours, reduced_motion="reduce")
        # The rest was looked at in the first colours, and in the wide window.
        rules = OF_COLOURS if found else OF_SIZE if narrow else ()
        found.append((path, colours, desk.violations(rules=rules), desk.sideways()))
    return found


def flawless(path: str) -> list[Look]:
    """Return what `looks` finds on a page on which nothing is wrong."""
    return [(path, colours, [], 0) for colours in COLOURS]


def put_off_and_handed(who: factories.People) -> None:
    """Put one question off for the administrator, and hand one to them."""
    first, second = models.Review.objects.filter(status="open", kind="action").order_by("pk")[:2]
    acts.snooze(first.pk, "1h", by=Actor(user=who.admin))
    acts.hand_over(second.pk, who.admin.pk, note="You know this customer.", by=Actor(user=who.reviewer))


@pytest.mark.parametrize("size", SIZES)
def test_every_page(size: str, who: factories.People, house: factories.House, sit: Sit) -> None:
    questions.asked(who)
    factories.held(who.operator, name=HIDDEN, title="Hidden characters")
    put_off_and_handed(who)
    desk = sit(who.admin, **SIZES[size])
    waiting = models.Review.objects.filter(status="open").values_list("pk", flat=True)
    paths = [
        "/inbox/",
        "/inbox/?tab=decided",
        "/inbox/?tab=team&tool=world.lookup",
        "/inbox/?tab=snoozed",
        "/runs/",
        "/runs/?only=failed",
    ]
    paths += [f"/reviews/{pk}/" for pk in models.Review.objects.order_by("pk").values_list("pk", flat=True)]
    paths += [f"/reviews/{order.asked(who.operator, letter=True).pk}/edit/"]
    paths += ["/reviews/batch/?review=" + "&review=".join(map(str, waiting))]
    paths += [f"/runs/{run.pk}/" for run in house.runs]
    paths += [f"/runs/{house.done.pk}/{tab}/" for tab in ("plan", "transcript", "effects", "usage")]
    paths += [f"/runs/{house.asked.pk}/plan/{tab}/" for tab in ("edit", "versions")]
    paths += [f"/runs/{house.failed.pk}/redrive/", f"/runs/{house.done.pk}/redrive/?checkpoint=2"]
    paths += ["/runs/redrive/", f"/runs/redrive/?cause={causes.key(house.failed.error)}"]
    paths += ["/audit/", "/audit/?refused=1", f"/runs/{house.done.pk}/dossier/"]
    paths += ["/policies/", "/policies/edit/"]
    found = [look for path in paths for look in looks(desk, path)]
    assert found == [look for path in paths for look in flawless(path)]


@pytest.mark.parametrize("size", SIZES)
def test_pages_without_anything(size: str, who: factories.People, sit: Sit) -> None:
    reader, stranger = sit(who.viewer, **SIZES[size]), sit(None, **SIZES[size])
    reader.expected = stranger.expected = re.compile("status of 404")
    for desk, paths in (
        (reader, ("/inbox/", "/runs/", "/runs/?only=done", "/runs/4242/")),
        (stranger, ("/login/", "/nowhere/")),
    ):
        for path in paths:
            assert looks(desk, path) == flawless(path)


@pytest.mark.parametrize(("size", "colours"), [("wide", "light"), ("narrow", "dark")])
def test_errors_and_answers_in_the_form(size: str, colours: str, who: factories.People, sit: Sit) -> None:
    review = factories.held(who.operator, tool="costly", name="fee")
    desk = sit(who.reviewer, **SIZES[size], color_scheme=colours)
    page = desk.go(f"/reviews/{review.pk}/")
    page.evaluate("document.querySelectorAll('form').forEach(form => { form.noValidate = true; })")
    page.locator("[data-must-see]").scroll_into_view_if_needed()
    page.get_by_label("Say what you checked").fill("It.")
    page.get_by_role("button", name="finally").click()
    page.locator("[data-error-summary]").wait_for()
    assert (desk.violations(), desk.sideways()) == ([], 0)
    models.Review.objects.filter(pk=review.pk).update(revision=2)
    page.get_by_label("Type this again: Amount").fill("1.00")
    page.get_by_role("button", name="finally").click()
    page.locator("#main").get_by_text("This has changed since you opened it").first.wait_for()
    assert (desk.violations(), desk.sideways()) == ([], 0)


@pytest.mark.parametrize("role", ["viewer", "reviewer", "operator", "auditor"])
def test_without_scripts_nothing_is_dead(
    role: str, who: factories.People, house: factories.House, sit: Sit
) -> None:
    desk = sit(who.named(role), java_script_enabled=False)
    for path in (
        "/inbox/",
        "/runs/",
        f"/runs/{house.asked.pk}/",
        *(f"/reviews/{row.pk}/" for row in models.Review.objects.all()),
    ):
        page = desk.go(path)
        assert page.locator("h1").count() == 1
        assert page.locator(".needs-js:visible").count() == 0, path
