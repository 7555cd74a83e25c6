"""Changing a plan: by keys alone, and by the mouse."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from runs import models
from runs.transitions import plan_edits
from runs.transitions.actor import Actor
from tests import factories
from tests.browser.desk import Desk
from tests.engine.conftest import go, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Sit = Callable[..., Desk]


def test_pause_reorder_insert_a_gate_save_and_resume_without_a_mouse(who: factories.People, sit: Sit) -> None:
    run = go(
        factories.start(who.operator, step("lookup", "mail"), step("look", "it"), step("allowed", "draft"))
    )
    desk = sit(who.operator, mouse=False)
    page = desk.go(f"/runs/{run.pk}/")
    desk.tab_to(page.get_by_role("button", name="Pause"), "Enter")
    expect(page.locator("#main").get_by_text("Paused. Nothing more is started")).to_be_visible()
    desk.press("p")
    expect(page.locator("#main").get_by_role("link", name="Change the plan")).to_be_visible()
    desk.press("e")
    expect(page.get_by_role("heading", level=1)).to_have_text("Change the plan")

    desk.press("j", "j", "j")
    expect(page.get_by_role("button", name="Edit Do draft")).to_be_focused()
    desk.press("Shift+K")
    expect(page.locator("[data-plan-list] .plan-title")).to_have_text(["Do mail", "Do draft", "Do it", "End"])
    expect(page.locator("#status")).to_have_text("“Do draft” is step 2 of 4 now.")
    expect(page.get_by_role("button", name="Edit Do draft")).to_be_focused()
    desk.press("w")
    expect(page.locator(".plan-gate")).to_have_text("Somebody is asked before this step")
    expect(page.get_by_role("button", name="Edit Do draft")).to_be_focused()
    desk.press("Enter")
    expect(page.get_by_label("Title")).to_be_focused()
    desk.press("Control+a")
    page.keyboard.type("Draft it carefully")
    desk.press("Enter")
    expect(page.get_by_role("button", name="Edit Draft it carefully")).to_be_focused()
    desk.press("i")
    expect(page.get_by_label("Title")).to_be_focused()
    page.keyboard.type("Look again")
    desk.tab_to(page.get_by_label("Tool"))
    page.keyboard.type("world.look (")
    desk.tab_to(page.get_by_role("button", name="Done with this step"), "Enter")
    expect(page.get_by_role("button", name="Edit Look again")).to_be_focused()
    desk.press("j")
    expect(page.get_by_role("button", name="Edit Do it")).to_be_focused()
    desk.press("Shift+X")
    expect(page.get_by_role("button", name="Edit End")).to_be_focused()
    desk.press("a")
    expect(page.get_by_label("Why does it change?")).to_be_focused()
    desk.press("Control+Enter")
    expect(page.get_by_role("heading", name="Please check this")).to_be_focused()
    desk.press("a")
    desk.send("The draft comes first.")
    expect(page.locator("#main").get_by_text("Plan version 2 saved.")).to_be_visible()
    desk.tab_to(page.get_by_role("button", name="Resume"), "Enter")
    expect(page.locator("#main").get_by_text("Resumed. It goes on")).to_be_visible()
    go(run)
    newest = models.Plan.objects.filter(run=run).latest("version")
    assert [one["title"] for one in newest.steps] == ["Do mail", "Draft it carefully", "Look again", "End"]
    assert (newest.author, newest.reason) == (who.operator, "The draft comes first.")
    assert newest.steps[1]["body"]["gate"] == {"by": "operator-1"}
    assert World.effects() == []


def test_drag_a_step_to_another_place_while_somebody_else_saves(who: factories.People, sit: Sit) -> None:
    run = go(
        factories.start(who.operator, step("lookup", "mail"), step("look", "it"), step("allowed", "draft"))
    )
    page = sit(who.operator).go(f"/runs/{run.pk}/plan/edit/")
    expect(page.locator("[data-sorted=yes]")).to_be_visible()
    page.locator(".grip").nth(2).drag_to(page.locator(".grip").nth(0))
    expect(page.locator("[data-plan-list] .plan-title")).to_have_text(["Do draft", "Do mail", "Do it", "End"])
    expect(
        page.locator("#plan-editor").get_by_text("What was asked or approved for this step")
    ).to_be_visible()
    wanted = [
        {"id": one.key, "title": one.title, "body": one.body} for one in run.plan_steps.order_by("order")
    ]
    wanted[1]["title"] = "Theirs"
    edit = plan_edits.Edit(base=1, steps=wanted, reason="Theirs.")
    plan_edits.save(run.pk, edit, by=Actor(user=who.admin))
    expect(page.locator("#plan-news")).to_contain_text("admin-1 has saved version 2 meanwhile")
    expect(page.locator("[data-plan-list] .plan-title")).to_have_text(["Do draft", "Do mail", "Do it", "End"])
    page.get_by_text("JSON", exact=True).click()
    expect(page.get_by_label("Steps, as JSON")).to_be_visible()
    expect(page.locator("#plan-steps")).to_be_hidden()
