"""The whole path in a real browser: a run stops, a person reads and decides, it happens once, the run ends."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.conf import settings
from playwright.sync_api import expect

from runs import models
from runs.demo import setup as demo
from tests import factories
from tests.browser.desk import Desk
from tests.engine.conftest import answer, go, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)

Sit = Callable[..., Desk]


def test_approve_read_on_and_end(who: factories.People, sit: Sit) -> None:
    run = go(factories.start(who.operator, step("look", "it"), step("lookup", "mail"), title="Letters"))
    desk = sit(who.reviewer)
    page = desk.go("/")
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")
    page.get_by_role("link", name="Will do mail.").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Will do mail.")
    expect(page.get_by_role("group", name="Exact arguments")).to_contain_text('"mail"')
    page.locator("[data-must-see]").scroll_into_view_if_needed()
    button = page.locator("#approve").get_by_role("button", name="Approve")
    expect(button).not_to_have_attribute("aria-disabled", "true")
    page.locator("#f-approve-reason").fill("Read it.")
    button.click()
    expect(page.locator("#main").get_by_text("Approved: Will do mail.")).to_be_visible()
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    assert page.url.endswith(f"/inbox/?done={models.Review.objects.get().pk}")
    page = desk.go(f"/runs/{run.pk}/")
    expect(page.locator(".chip").first).to_have_text("Queued")
    assert go(run).status == "succeeded"
    expect(page.locator(".chip").first).to_have_text("Done")  # by itself: the page heard of it
    assert [line["name"] for line in World.effects()] == ["mail"]


def test_the_same_without_javascript(who: factories.People, sit: Sit) -> None:
    go(factories.start(who.operator, step("lookup", "mail")))
    desk = sit(who.reviewer, java_script_enabled=False)
    page = desk.go("/inbox/")
    page.get_by_role("link", name="Will do mail.").click()
    page.locator("#f-approve-reason").fill("Read it.")
    page.locator("#approve").get_by_role("button", name="Approve").click()
    expect(page.locator("#main").get_by_text("Approved: Will do mail.")).to_be_visible()
    assert go(models.Run.objects.get()).status == "succeeded"
    assert len(World.effects("mail")) == 1


def test_reject_sends_nothing_and_the_run_says_so(who: factories.People, sit: Sit) -> None:
    run = go(factories.start(who.operator, step("lookup", "mail")))
    desk = sit(who.reviewer)
    page = desk.go(f"/reviews/{models.Review.objects.get().pk}/")
    page.locator("#reject > summary").click()
    page.locator("#f-reason").fill("Wrong customer.")
    page.locator("#reject").get_by_role("button", name="Reject").click()
    expect(page.locator("#main").get_by_text("Rejected, it is not done: Will do mail.")).to_be_visible()
    assert go(run).status == "succeeded"
    page = desk.go(f"/runs/{run.pk}/")
    expect(page.locator("#main").get_by_text("Wrong customer.").first).to_be_visible()
    assert World.effects() == []


def test_the_keyboard_is_enough(who: factories.People, sit: Sit) -> None:
    factories.held(who.operator, name="one")
    factories.held(who.operator, name="two")
    desk = sit(who.reviewer, mouse=False)
    page = desk.go("/inbox/")
    page.keyboard.press("j")
    expect(page.get_by_role("link", name="Will do one.")).to_be_focused()
    page.keyboard.press("j")
    page.keyboard.press("k")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Will do one.")
    desk.read()
    page.keyboard.press("a")
    expect(page.locator("#f-approve-reason")).to_be_focused()
    page.keyboard.type("Looks right.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Will do two.")
    expect(page.locator("#main").get_by_text("Approved: Will do one.")).to_be_focused()
    page.keyboard.press("r")
    expect(page.locator("#f-reason")).to_be_focused()
    page.keyboard.type("Not this one.")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("heading", name="Nothing waits for you")).to_be_visible()
    expect(page.locator("#done").get_by_text("Rejected, it is not done: Will do two.")).to_be_focused()
    verdicts = models.Decision.objects.order_by("id").values_list("verdict", "reason")
    assert list(verdicts) == [("approve", "Looks right."), ("reject", "Not this one.")]


def test_the_final_tier_asks_for_the_value_again(who: factories.People, sit: Sit) -> None:
    review = factories.held(who.operator, tool="costly", name="fee")
    desk = sit(who.reviewer)
    page = desk.go(f"/reviews/{review.pk}/")
    page.locator("[data-must-see]").scroll_into_view_if_needed()
    page.keyboard.press("a")
    expect(page.get_by_label("Type this again: Amount")).to_be_focused()  # the first step comes first
    page.keyboard.type("10.00")
    page.get_by_role("heading", level=1).focus()
    page.keyboard.press("a")
    expect(page.get_by_label("Say what you checked")).to_be_focused()
    page.keyboard.type("The contract.")
    page.get_by_role("button", name="finally").click()
    expect(page.get_by_role("heading", name="Please check this")).to_be_focused()
    expect(page.get_by_label("Say what you checked")).to_have_value("The contract.")
    page.get_by_role("link", name="Type this exactly as it is shown").click()
    expect(page.get_by_label("Type this again: Amount")).to_be_focused()
    page.get_by_label("Type this again: Amount").fill("1.00")
    page.get_by_role("button", name="finally").click()
    expect(page.locator("#main").get_by_text("Approved:")).to_be_visible()
    assert models.Decision.objects.get().reason == "The contract."


def test_somebody_was_faster_and_what_was_typed_stays(who: factories.People, sit: Sit) -> None:
    review = factories.held(who.operator)
    other = factories.person("other", "reviewer")
    slow, fast = sit(who.reviewer), sit(other)
    page = slow.go(f"/reviews/{review.pk}/")
    page.locator("#reject > summary").click()
    page.locator("#f-reason").fill("An hour of thinking.")
    quick = fast.go(f"/reviews/{review.pk}/")
    quick.locator("[data-must-see]").scroll_into_view_if_needed()
    quick.locator("#f-approve-reason").fill("Read it.")
    quick.locator("#approve").get_by_role("button", name="Approve").click()
    expect(quick.locator("#main").get_by_text("Approved:")).to_be_visible()
    expect(page.locator("#live")).to_contain_text("other approved this.")  # the open page hears of it
    expect(page.locator("#f-reason")).to_have_value("An hour of thinking.")
    page.locator("#reject").get_by_role("button", name="Reject").click()
    expect(page.locator("#main").get_by_text("other approved this first")).to_be_focused()
    expect(page.get_by_label("What you had typed")).to_have_value("An hour of thinking.")


def test_the_news_is_in_sight_of_who_fills_in_the_long_form(who: factories.People, sit: Sit) -> None:
    review = factories.held(who.operator, tool="costly", name="fee")
    page = sit(who.reviewer, viewport={"width": 1280, "height": 500}).go(f"/reviews/{review.pk}/")
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")
    page.locator("[data-must-see]").scroll_into_view_if_needed()
    page.get_by_label("Say what you checked").fill("An hour of thinking.")
    answer(review, factories.person("other", "reviewer"), "approve", retype="1.00")
    expect(page.locator("#live")).to_contain_text("other approved this.")
    expect(page.locator("#live .banner")).to_be_in_viewport(ratio=1)
    expect(page.get_by_label("Say what you checked")).to_be_focused()
    expect(page.get_by_label("Say what you checked")).to_be_in_viewport()


@pytest.mark.parametrize("tool", ["lookup", "costly"])
def test_the_bar_of_a_phone_leads_to_the_decision_and_steps_aside(
    who: factories.People, sit: Sit, tool: str
) -> None:
    review = factories.held(who.operator, tool=tool)
    page = sit(who.reviewer, viewport={"width": 390, "height": 640}).go(f"/reviews/{review.pk}/")
    bar = page.locator(".decide-bar")
    expect(bar).to_be_visible()
    bar.get_by_role("link", name="Approve").click()
    expect(page.locator("#f-approve-retype" if tool == "costly" else "#f-approve-reason")).to_be_focused()
    expect(bar).to_be_hidden()
    page.evaluate("window.scrollTo(0, 0)")
    expect(bar).to_be_visible()


def test_what_is_missing_is_said_by_the_page(who: factories.People, sit: Sit) -> None:
    review = factories.held(who.operator)
    page = sit(who.reviewer).go(f"/reviews/{review.pk}/")
    page.locator("[data-must-see]").scroll_into_view_if_needed()
    button = page.locator("#approve [type=submit]")
    expect(button).not_to_have_attribute("aria-disabled", "true")
    expect(button.locator("kbd")).to_have_text("Ctrl ↵")
    button.click()
    expect(page.get_by_role("heading", name="Please check this")).to_be_focused()
    expect(page.locator("#f-approve-reason-error")).to_be_visible()


def test_going_to_the_answers_chooses_none(who: factories.People, sit: Sit) -> None:
    review = models.Review.objects.get(run=factories.failed(who.operator))
    page = sit(who.operator).go(f"/reviews/{review.pk}/")
    page.keyboard.press("a")
    expect(page.get_by_label("Try again")).to_be_focused()
    expect(page.locator("[name=verdict]:checked")).to_have_count(0)
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("link", name="Choose what next.")).to_be_visible()


def test_take_an_approval_back(who: factories.People, sit: Sit, monkeypatch: pytest.MonkeyPatch) -> None:
    """By keys alone: `z` takes back what was just approved, and it is asked again."""
    monkeypatch.setitem(settings.CKPTSITE, "UNDO_WINDOW_2", 60.0)
    review = factories.held(who.operator)
    desk = sit(who.reviewer, mouse=False)
    page = desk.go(f"/reviews/{review.pk}/")
    desk.read()
    page.keyboard.press("a")
    page.keyboard.type("Read it.")
    page.keyboard.press("Control+Enter")
    expect(page.locator("#main").get_by_text("It starts in")).to_be_visible()
    expect(page.locator("#done [data-focus]")).to_be_focused()
    page.keyboard.press("z")
    expect(page.locator("#main").get_by_text("Taken back. Nothing was done")).to_be_visible()
    expect(page.get_by_role("heading", name="Inbox")).to_be_visible()  # it stays where it was
    desk.tab_to(page.get_by_role("link", name="it is asked again"), "Enter")
    expect(page.locator("#decide")).to_contain_text("You took it back.")
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")
    go(review.run)
    desk.tab_to(page.locator("#live").get_by_role("link", name="It is asked again here"), "Enter")
    expect(page.locator("#approve")).to_be_visible()
    assert World.effects() == []
    assert models.Review.objects.filter(status="open").count() == 1


def test_start_pause_resume_and_stop(who: factories.People, sit: Sit) -> None:
    before = set(waiting_mails())
    desk = sit(who.operator)
    page = desk.go("/runs/")
    page.get_by_role("link", name="Start a run").first.click()
    page.get_by_label("Open invoices").set_input_files(demo.FOLDER / "north.csv")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Accounts receivable: north.csv")
    run = models.Run.objects.get()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#main").get_by_text("Paused. Nothing more is started")).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("#main").get_by_text("Resumed. It goes on")).to_be_visible()
    go(run)
    expect(page.locator(".asks a.button").first).to_be_visible()
    page.locator("summary", has_text="Stop").click()
    page.get_by_label("Why?").fill("It was a try.")
    page.get_by_role("button", name="Stop the run").click()
    expect(page.locator("#main").get_by_text("Stop asked. What is under way")).to_be_visible()
    assert go(run).status == "cancelled"
    expect(page.locator(".chip").first).to_have_text("Stopped")
    assert set(waiting_mails()) == before


def test_the_inbox_hears_of_news_and_moves_nothing(who: factories.People, sit: Sit) -> None:
    factories.held(who.operator, name="one")
    desk = sit(who.reviewer)
    page = desk.go("/inbox/")
    expect(page.locator("[data-live-state]")).to_have_attribute("data-state", "live")
    factories.held(who.operator, name="two")
    expect(page.get_by_role("link", name="1 new")).to_be_visible()
    expect(page.locator("[data-row]")).to_have_count(1)
    expect(page.locator("#queue-count")).to_contain_text("2")
    page.get_by_role("link", name="1 new").click()
    expect(page.locator("[data-row]")).to_have_count(2)


def test_the_session_is_over_in_the_middle(who: factories.People, sit: Sit) -> None:
    review = factories.held(who.operator)
    desk = sit(who.reviewer)
    page = desk.go(f"/reviews/{review.pk}/")
    page.locator("#reject > summary").click()
    page.locator("#f-reason").fill("Typed before the session ended.")
    desk.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    # What keeps the page fresh finds out, and says so in place; the text stays, also on the way through the sign-in.
    page.locator("#stream").dispatch_event("resync")
    toast = page.get_by_role("alert").filter(has_text="Your session is over")
    expect(toast).to_be_visible()
    assert (desk.violations(), desk.sideways()) == ([], 0)
    assert not models.Decision.objects.exists()
    toast.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/login/**")
    assert f"next=/reviews/{review.pk}/" in page.url.replace("%2F", "/")
    desk.sign_in(who.reviewer)
    page.goto(f"{desk.server}/reviews/{review.pk}/")
    page.locator("#reject > summary").click()
    expect(page.locator("#f-reason")).to_have_value("Typed before the session ended.")
    # The form itself leads to the sign-in page as well, when nothing has noticed before.
    desk.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)
    page.locator("#reject").get_by_role("button", name="Reject").click()
    page.wait_for_url("**/login/**")
    assert not models.Decision.objects.exists()


def waiting_mails() -> list[str]:
    """Return the mails in the mail folder."""
    folder = settings.CKPTSITE_MAIL_DIR
    return [path.name for path in folder.glob("*.eml")] if folder.exists() else []
