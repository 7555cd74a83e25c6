"""Every page, light and dark, wide and narrow: no barrier, no error, no sideways scroll, no key that isn't listed."""

from __future__ import annotations

import io
import re
from collections.abc import Callable
from typing import Any, Literal
from unittest import mock

import pytest
from django.conf import settings

from runs import causes, models
from runs.engine import run_imports
from runs.transitions import desk as acts
from runs.transitions import limits, mcp, switches
from runs.transitions.actor import Actor
from tests import elsewhere, factories
from tests.browser.desk import OF_COLOURS, OF_SIZE, Desk
from tests.engine.conftest import only_review
from tests.forms import order
from tests.pages import test_questions as questions
from tests.pages.test_pages import HIDDEN

pytestmark = pytest.mark.django_db(transaction=True)

Sit = Callable[..., Desk]

# Halfway through a fade nothing has its contrast.
STILL: dict[str, Any] = {"reduced_motion": "reduce"}
WIDE: dict[str, Any] = {"viewport": {"width": 1280, "height": 900}, **STILL}
NARROW: dict[str, Any] = {"viewport": {"width": 360, "height": 740}, **STILL, "has_touch": True}


def looks(desk: Desk, path: str, *, keys: bool = True) -> list[str]:
    """Return what is wrong with the look of a page: barriers, sideways scroll, and keys that its sheet doesn't list.

    Without `keys` the sheet is left alone: an answer of a form has the keys of its page.
    The window is wide and light. Then it becomes a phone's, dark, and is looked at for what width, fingers and colours
    can change; the page stays, for nothing but its styles asks for the window.
    """
    page = desk.go(path)
    page.evaluate(
        "document.querySelectorAll('details:not([name]):not(.menu)').forEach(part => { part.open = true; })"
    )
    found: list[str] = []
    if keys and page.locator("#keys").count():
        heard, listed = desk.keys()
        found += [] if heard == listed else [f"{path}: listens to {heard}, lists {listed}"]
    found += flaws(desk, path, "light")
    with desk.phone(NARROW["viewport"]):
        found += flaws(desk, path, "dark", rules=OF_SIZE)
    return found


def flaws(
    desk: Desk, path: str, colours: Literal["light", "dark"], *, rules: tuple[str, ...] = ()
) -> list[str]:
    """Return what is wrong with the page that is open, in these colours."""
    desk.page.emulate_media(color_scheme=colours, reduced_motion="reduce")
    found = [f"{path}, {colours}: {words}" for words in desk.violations(rules=rules)]
    if wide := desk.sideways():
        found.append(f"{path}, {colours}: {wide} pixels too wide")
    return found


def put_off_and_handed(who: factories.People) -> None:
    """Put one question off for the administrator, and hand one to them."""
    first, second = models.Review.objects.filter(status="open", kind="action").order_by("pk")[:2]
    acts.snooze(first.pk, "1h", by=Actor(user=who.admin))
    acts.hand_over(second.pk, who.admin.pk, note="You know this customer.", by=Actor(user=who.reviewer))


def offered_by_a_server(who: factories.People) -> None:
    """A tool that was accepted and is another now, and one that is new."""
    told = {"title": "", "description": "Note it.", "input": {"type": "object"}, "output": None,
            "annotations": {"readOnlyHint": True}}  # fmt: skip
    by = Actor(user=who.admin)
    (note,) = mcp.seen("odd", {"note": told}, by=by)
    mcp.accept(note.pk, digest=note.digest, by=by)
    mcp.seen("odd", {"note": told | {"description": "Note it, and tell everybody."}, "send": told}, by=by)


@mock.patch.dict(settings.CKPTSITE, BREAK_GLASS=True)
def test_every_page(who: factories.People, house: factories.House, sit: Sit) -> None:
    questions.asked(who)
    factories.held(who.operator, name=HIDDEN, title="Hidden characters")
    put_off_and_handed(who)
    offered_by_a_server(who)
    factories.second(who)
    switches.pause_agent("receivables", True, reason="Wrong letterhead.", by=Actor(user=who.admin))
    some = {"steps": 200, "cost_micro": 2_500_000, "calls:email.send": 0}
    limits.set_limits("receivables", some, reason="Month end.", base=0, by=Actor(user=who.admin))
    who.admin.set_password(factories.PASSWORD)
    who.admin.save()
    desk = sit(who.admin, **WIDE)
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
    paths += [f"/reviews/{only_review(house.final).pk}/break-glass/"]
    paths += [f"/runs/{run.pk}/" for run in house.runs]
    paths += [f"/runs/{house.done.pk}/{tab}/" for tab in ("plan", "transcript", "effects", "usage")]
    paths += [f"/runs/{house.asked.pk}/plan/{tab}/" for tab in ("edit", "versions")]
    paths += [f"/runs/{house.failed.pk}/redrive/", f"/runs/{house.done.pk}/redrive/?checkpoint=2"]
    paths += [f"/runs/{factories.dry(who.operator).pk}/dry-run/"]
    paths += ["/notices/", "/outgoing/", "/settings/"]
    paths += [f"/settings/{part}/" for part in ("tokens", "notifications", "sessions")]
    paths += [f"/settings/security/{part}" for part in ("", "password/", "app/", "passkey/")]
    paths += ["/runs/redrive/", f"/runs/redrive/?cause={causes.key(house.failed.error)}"]
    paths += ["/metrics/", "/audit/", "/audit/?refused=1", f"/runs/{house.done.pk}/dossier/"]
    paths += ["/policies/", "/policies/edit/", "/switches/", "/team/", f"/team/{who.viewer.pk}/"]
    paths += [
        "/budgets/",
        "/budgets/everybody/",
        "/budgets/agents/receivables/",
        "/secrets/",
        "/mcp/",
        "/system/",
        "/system/storage/",
    ]
    admin = Actor(user=who.admin)
    record = run_imports.bring(io.BytesIO(elsewhere.file(house.done)), source="run.jsonl", by=admin)
    paths += ["/runs/imported/", f"/runs/imported/{record.pk}/"]
    paths += ["/agents/", "/agents/receivables/", "/agents/receivables/1/try/", "/agents/new/"]
    paths += [f"/agents/{factories.remembered(who.operator).agent.name}/memory/"]
    paths += ["/tools/", "/tools/world.look/", "/tools/http.request/"]
    assert [words for path in paths for words in looks(desk, path)] == []
    # What only a wide window shows, such as the keys beside the words, in the other colours.
    desk.page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    phone = sit(who.admin, **NARROW)
    for path in ("/inbox/", f"/reviews/{waiting[0]}/", f"/runs/{house.asked.pk}/plan/edit/"):
        desk.go(path)
        assert desk.violations(rules=OF_COLOURS) == [], path
        phone.go(path)
        assert flaws(phone, path, "light", rules=OF_SIZE) == []


def test_pages_without_anything(who: factories.People, sit: Sit) -> None:
    reader, stranger = sit(who.viewer, **WIDE), sit(None, **WIDE)
    reader.expected = stranger.expected = re.compile("status of 404")
    for desk, paths in (
        (reader, ("/inbox/", "/runs/", "/runs/?only=done", "/runs/4242/")),
        (stranger, ("/login/", "/nowhere/")),
    ):
        assert [words for path in paths for words in looks(desk, path)] == []


def test_without_scripts_nothing_is_dead(who: factories.People, house: factories.House, sit: Sit) -> None:
    paths = ["/inbox/", "/runs/", f"/runs/{house.asked.pk}/"]
    paths += [f"/reviews/{row.pk}/" for row in models.Review.objects.filter(status="open")]
    desk = sit(java_script_enabled=False)
    for role in ("viewer", "reviewer", "operator"):
        desk.sign_in(who.named(role))
        for path in paths:
            page = desk.go(path)
            assert page.locator("h1").count() == 1
            assert page.locator(".needs-js:visible").count() == 0, path
