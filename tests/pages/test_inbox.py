"""The inbox's tabs and filters, putting a question off, and handing it over: what is counted is what is listed."""

from __future__ import annotations

import datetime
import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runs import models
from runs.selectors import inbox_rows
from runs.transitions import clocks, desk, refusals
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import answer
from tests.pages.conftest import As
from tests.pages.test_pages import queries, text

pytestmark = pytest.mark.django_db(transaction=True)
INBOX = "/inbox/"


def rows(page: str) -> int:
    """How many lines a list has."""
    return page.count("data-row-link")


def tab(page: str, label: str) -> int:
    """What the tab says that it holds."""
    found = re.search(rf'{label} <span class="badge">(\d+)</span>', page)
    assert found, label
    return int(found[1])


def post(client: Client, name: str, review: models.Review, **fields: object) -> tuple[int, str]:
    """Send one of the desk's forms as a browser would: the status, and where it leads or the page."""
    client.handler.enforce_csrf_checks = False  # test_errors sends every form with its own token
    response = client.post(reverse(name, args=[review.pk]), fields)
    return response.status_code, response.get("Location", "") or response.content.decode()


def test_each_filter_leaves_what_its_chip_counts(
    who: factories.People, house: factories.House, as_: As
) -> None:
    client = as_(who.admin)
    late = models.Review.objects.filter(status="open", kind="action").order_by("pk")[0]
    now = timezone.now()
    models.Review.objects.filter(pk=late.pk).update(
        due_at=now - datetime.timedelta(hours=1), opened_at=now - datetime.timedelta(hours=5)
    )
    page = text(client, INBOX)
    chips = re.findall(r'<a href="/inbox/\?([^"]*)">([^<]*) <span class="faint">(\d+)</span>', page)
    assert {label for _, label, _ in chips} >= {
        "Overdue",
        "Final",
        "Goes out",
        "Failed runs",
        "Did it happen?",
    }
    for query, label, count in chips:
        assert rows(text(client, f"{INBOX}?{query.replace('&amp;', '&')}")) == int(count), label
    every = rows(page)
    for query, count in {
        "tool=world.costly": 1,
        "tool=world.costly&tier=2": 0,
        "agent=nobody": 0,
        f"agent={late.run.agent_version.agent.name}": 1,
        "age=4h": 1,
        "age=1d": 0,
        "tier=9&kind=x&tab=y&age=z&tool=%00": every,
    }.items():
        found = text(client, f"{INBOX}?{query}")
        assert rows(found) == count, query
        assert ("No entry fits" in found) == (count == 0)
    assert queries(client, f"{INBOX}?tab=team&tier=2") <= 12
    assert queries(client, f"{INBOX}?tab=decided") <= 12


def test_decided_today_and_before(
    who: factories.People, house: factories.House, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = as_(who.viewer)
    today = text(client, f"{INBOX}?tab=decided")
    assert rows(today) == models.Decision.objects.count() == 3
    assert rows(text(client, f"{INBOX}?tab=decided&kind=plan")) == 0
    known = re.search(r'"known": "([^"]*)"', today)
    assert known
    place = f"{INBOX}?tab=decided&part=news&known={known[1]}"
    assert " new" not in text(client, place)
    answer(models.Review.objects.get(run=house.asked), who.reviewer, "reject")
    assert "1 new" in text(client, place)
    monkeypatch.setattr(inbox_rows, "today", lambda: timezone.now() + datetime.timedelta(hours=1))
    tomorrow = text(client, f"{INBOX}?tab=decided&tier=2")
    assert "No entry fits" in tomorrow
    assert "tab=decided&amp;tier=2&amp;earlier=1" in tomorrow
    assert rows(text(client, f"{INBOX}?tab=decided&tier=2&earlier=1")) == 4


def test_put_off_for_one_person_and_back_by_itself(who: factories.People, as_: As) -> None:
    """It leaves one list, stays in the others', keeps its deadlines, and comes back at its time without anybody."""
    first, second = (factories.held(who.operator, name=name) for name in ("one", "two"))
    other = factories.person("rita", "reviewer")
    client, colleague = as_(who.reviewer), as_(other)
    before = text(client, INBOX)
    known = re.search(r'"known": "([^"]*)"', before)
    assert known
    status, place = post(client, "review-snooze", first, **{"for": "1h"})
    assert (status, place) == (303, reverse("review", args=[second.pk]))  # on to what is next
    mine, put_off = text(client, INBOX), text(client, f"{INBOX}?tab=snoozed")
    assert (rows(mine), tab(mine, "Mine"), tab(mine, "Team"), tab(mine, "Snoozed")) == (1, 1, 2, 1)
    assert "Inbox (1)" in mine
    assert (rows(put_off), "back <time" in put_off) == (1, True)
    assert rows(text(client, f"{INBOX}?tab=team")) == rows(text(colleague, INBOX)) == 2
    assert "1 no longer here" in text(client, f"{INBOX}?part=news&known={known[1]}")
    assert "You put this off" in text(client, reverse("review", args=[first.pk]))
    assert "You put this off" not in text(colleague, reverse("review", args=[first.pk]))
    known = re.search(r'"known": "([^"]*)"', mine)
    assert known
    assert clocks.wake_snoozed() == 0
    models.Snooze.objects.update(until=timezone.now())
    assert (clocks.wake_snoozed(), clocks.wake_snoozed()) == (1, 0)
    assert rows(text(client, INBOX)) == 2
    assert "1 new" in text(client, f"{INBOX}?part=news&known={known[1]}")
    assert post(client, "review-snooze", first, **{"for": "20m"})[0] == 303
    assert post(client, "review-wake", first)[0] == 303
    assert rows(text(client, INBOX)) == 2
    assert post(client, "review-wake", first)[0] == 409
    acts = models.AuditEvent.objects.filter(subject=f"review {first.pk}").order_by("seq")
    assert list(acts.values_list("act", flat=True)) == ["review.snoozed", "review.snoozed", "review.woken"]
    again = models.Review.objects.get(pk=first.pk)
    assert (again.due_at, again.expires_at) == (first.due_at, first.expires_at)


def test_nobody_puts_off_what_is_over_by_then_or_isnt_theirs(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    models.Review.objects.filter(pk=review.pk).update(expires_at=timezone.now() + datetime.timedelta(hours=2))
    client = as_(who.reviewer)
    page = text(client, reverse("review", args=[review.pk]))
    assert ('<option value="1h">' in page, '<option value="4h">' in page) == (True, False)
    status, page = post(client, "review-snooze", review, **{"for": "4h"})
    assert (status, "By then it is over" in page) == (422, True)
    assert post(client, "review-snooze", review, **{"for": "a while"})[0] == 422
    for role in ("viewer", "operator"):
        outsider = as_(who.named(role))
        assert post(outsider, "review-snooze", review, **{"for": "1h"})[0] == 403
        assert post(outsider, "review-hand-over", review, to=who.reviewer.pk, note="x")[0] == 403
        assert 'id="snooze"' not in text(outsider, reverse("review", args=[review.pk]))
    assert not models.Snooze.objects.exists()
    answer(review, who.reviewer, "reject")
    assert post(client, "review-snooze", review, **{"for": "1h"})[0] == 409
    status, page = post(client, "review-hand-over", review, to=who.admin.pk, note="Have a look.")
    assert (status, "Have a look." in page) == (409, True)


def test_hand_over_shows_whose_it_is_and_locks_nobody_out(who: factories.People, as_: As) -> None:
    """The other sees who handed it over and why; it leaves the list of the rest until it is due; anybody may decide."""
    review = factories.held(who.operator)
    rita, nora = factories.person("rita", "reviewer"), factories.person("nora", "reviewer")
    models.User.objects.filter(pk=nora.pk).update(first_name="Nora", last_name="Hale")
    desk.snooze(review.pk, "1h", by=Actor(user=rita))
    client, to = as_(who.reviewer), as_(rita)
    page = text(client, reverse("review", args=[review.pk]))
    people = re.findall(r'<option value="(\d+)">([^<]*)</option>', page[page.index('id="f-to"') :])
    assert [name for _, name in people] == ["admin-1", "Nora Hale (nora)", "rita"]
    status, page = post(client, "review-hand-over", review, to=rita.pk, note=" ")
    assert (status, "Say why rita gets this" in page) == (422, True)
    status, page = post(client, "review-hand-over", review, to=who.operator.pk, note="Kept <b>text</b>")
    assert (status, "Choose somebody who may answer" in page, "Kept &lt;b&gt;text" in page) == (
        422,
        True,
        True,
    )
    status, place = post(client, "review-hand-over", review, to=rita.pk, note="You know <b>Kolb</b>.")
    assert (status, place) == (303, INBOX)
    assert (rows(text(client, INBOX)), rows(text(as_(nora), INBOX)), rows(text(to, INBOX))) == (0, 0, 1)
    assert "<b>reviewer-1</b> handed this to you: “You know &lt;b&gt;Kolb" in " ".join(
        text(to, INBOX).split()
    )
    assert "with <b>rita</b>" in text(client, f"{INBOX}?tab=team")
    assert "handed this to you" in text(to, reverse("review", args=[review.pk]))
    assert "You may still answer it." in text(client, reverse("review", args=[review.pk]))
    assert post(to, "review-hand-over", review, to=rita.pk, note="x")[0] == 422
    assert post(to, "review-hand-over", review, to=nora.pk, note="No, you do.")[0] == 303
    assert (rows(text(to, INBOX)), rows(text(as_(nora), INBOX))) == (0, 1)
    models.Review.objects.filter(pk=review.pk).update(due_at=timezone.now())
    assert rows(text(client, INBOX)) == 1  # due, so it is everybody's
    assert post(client, "review-hand-over", review, to=who.reviewer.pk, note="")[0] == 303  # taken
    assert answer(review, rita, "approve").verdict == "approve"
    notes = models.AuditEvent.objects.filter(act="review.handed_over").order_by("seq")
    assert [event.content["to"] for event in notes] == ["rita", "nora", "reviewer-1"]
    with pytest.raises(refusals.Stale):
        desk.hand_over(review.pk, rita.pk, note="x", by=Actor(user=nora))


def test_the_next_question_is_of_the_list_one_comes_from(who: factories.People, as_: As) -> None:
    reviews = [factories.held(who.operator, name=name) for name in ("one", "two", "three")]
    models.Review.objects.filter(pk=reviews[1].pk).update(tier=1)
    client = as_(who.reviewer)
    way = "?from=tab%3Dteam%26tier%3D2"
    page = text(client, f"{INBOX}?tab=team&tier=2")
    assert f'href="/reviews/{reviews[0].pk}/{way}"' in page
    page = text(client, f"/reviews/{reviews[0].pk}/{way}")
    assert f'href="/reviews/{reviews[2].pk}/{way}"' in page
    assert 'href="/inbox/?tab=team&amp;tier=2"' in page
    fields = {"from": "tab=team&tier=2", "verdict": "reject", "reason": "no", "revision": 1}
    for review, place in (
        (reviews[0], f"/reviews/{reviews[2].pk}/?done="),
        (reviews[2], "/inbox/?tab=team&tier=2&done="),
    ):
        given = {**fields, "digest": review.digest, "token": f"form-{review.pk}", "evidence_number": 0}
        status, led = post(client, "review", review, **given)
        assert (status, led.startswith(place)) == (303, True), led
