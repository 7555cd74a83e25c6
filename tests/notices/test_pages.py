"""The pages about notices: what one was told, what one wants, and whom the installation tells."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import pytest
from django.conf import settings as live
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from runs import models, telling
from runs.selectors import notices as selectors
from runs.transitions import notices, slack_links
from runs.transitions.actor import Actor
from tests import factories
from tests.notices.outside import Receiver
from tests.notices.test_outbox import HOSTILE, mailed, work
from tests.pages.conftest import As

pytestmark = pytest.mark.django_db(transaction=True)


def signed_in(as_: As, user: models.User) -> Client:
    client = as_(user)
    client.handler.enforce_csrf_checks = (
        False  # that every form carries its token is looked at in the browser
    )
    return client


def test_ones_own_choice_is_kept_and_what_does_not_fit_stays_as_typed(who: factories.People, as_: As) -> None:
    client, place = signed_in(as_, who.reviewer), reverse("notifications")
    given = {f"{row}-{way}": telling.OFF for row in telling.ROWS for way in telling.WAYS}
    wrong = {
        **given,
        "gather_hours": "2",
        "quiet_from": "25:00",
        "quiet_until": "07:00",
        "zone": "Mars/Olympus",
    }
    page = client.post(place, wrong)
    assert page.status_code == 422
    text = page.content.decode()
    assert "Write a time such as 22:00." in text
    assert 'value="Mars/Olympus"' in text
    assert 'value="25:00"' in text
    assert text.count('<option value="off" selected>') == 12
    half = client.post(place, {**given, "gather_hours": "2", "quiet_from": "22:00"})
    assert "a beginning and an end" in half.content.decode()
    assert client.post(place, {**given, "gather_hours": "5"}).status_code == 422
    assert not models.NoticeSettings.objects.exists()
    right = {
        **given,
        "gather_hours": "2",
        "quiet_from": "22:00",
        "quiet_until": "07:00",
        "zone": "Europe/Berlin",
    }
    assert client.post(place, right).status_code == 303
    wish = selectors.wish_of(who.reviewer)
    assert (wish.gather_hours, wish.zone, wish.final_anyway) == (2, "Europe/Berlin", False)
    assert wish.way(telling.FINAL, telling.EMAIL) == telling.OFF
    factories.held(who.operator, tool="costly")
    notices.spread()
    assert not models.Delivery.objects.filter(person=who.reviewer).exists()
    assert models.Delivery.objects.filter(person=who.admin, channel="page").exists()


def test_what_one_was_told_is_listed_until_it_is_read(
    who: factories.People,
    as_: As,
    django_assert_max_num_queries: Callable[[int], AbstractContextManager[Any]],
) -> None:
    mailed(who.admin, "ada@example.com")
    client = signed_in(as_, who.admin)
    review = factories.held(who.operator, title=HOSTILE)
    models.Review.objects.filter(pk=review.pk).update(title=HOSTILE)
    for way in ("page", "email"):
        assert client.post(reverse("notice-test"), {"way": way}).status_code == 303
    work()
    with django_assert_max_num_queries(9):
        page = client.get(reverse("notices")).content.decode()
    assert f'href="{reverse("review", args=[review.pk])}"' in page
    assert page.count('class="chip tone-ask"') == 2
    assert "\u202e" not in page
    assert "<img" not in page
    assert re.search(r'class="badge badge-ask">2<', page)
    newest = re.search(r'name="newest" value="(\d+)"', page)
    assert newest is not None
    client.post(reverse("notices-seen"), {"newest": newest[1]})
    client.post(reverse("notices-seen"), {"newest": "1"})  # never back
    again = client.get(reverse("notices")).content.decode()
    assert "tone-ask" not in again.split("<main")[1]
    assert "A test · Sent" in client.get(reverse("notifications")).content.decode()
    assert client.get(reverse("notices") + "?before=1").status_code == 200
    for letter in live.CKPTSITE_NOTICES_DIR.iterdir():
        letter.unlink()


def test_whom_the_installation_tells(
    who: factories.People, as_: As, receiver: Receiver, settings: Settings
) -> None:
    settings.CKPTSITE = {**settings.CKPTSITE, "NOTICE_TRIES": 1}
    settings.CKPTSITE_SLACK, settings.SLACK_TEAM = True, "T01"
    client, place = signed_in(as_, who.admin), reverse("outgoing")
    inside = client.post(place, {"url": "https://10.0.0.1/hook", "about": "Inside", "form": "one"})
    assert (inside.status_code, models.Endpoint.objects.count()) == (422, 0)
    assert "10.0.0.1 isn&#x27;t a public address" in inside.content.decode()
    assert 'value="Inside"' in inside.content.decode()
    given = {"url": receiver.url(), "about": "Log", "form": "two", "kinds": ["run.failed", "test"]}
    made = client.post(place, given)
    found = re.search(r'id="secret">(whsec_[^<]+)<', made.content.decode())
    assert found is not None
    assert client.post(place, given).status_code == 409  # the same form again
    assert found[1] not in client.get(place).content.decode()
    row = models.Endpoint.objects.get()
    act = reverse("endpoint-act", args=[row.pk])
    turned = client.post(act, {"what": "rotate", "generation": "1"})
    assert "whsec_" in turned.content.decode()
    assert found[1] not in turned.content.decode()
    assert client.post(act, {"what": "rotate", "generation": "1"}).status_code == 409
    assert client.post(act, {"what": "dance"}).status_code == 422
    receiver.answer = lambda _request: (500, {}, b"")
    assert client.post(act, {"what": "test"}).status_code == 303
    assert work() == 1
    dead = models.Delivery.objects.get()
    page = client.get(place).content.decode()
    assert "The endpoint answered 500." in page
    assert str(dead.notice.event) in page
    again = reverse("delivery-again", args=[dead.pk])
    assert [client.post(again).status_code for _ in range(2)] == [303, 409]
    assert client.post(act, {"what": "off"}).status_code == 303
    assert work() == 1
    dead.refresh_from_db()
    assert dead.status == "dropped"  # nobody listens any more

    member = reverse("outgoing-member")
    assert client.post(member, {"person": who.reviewer.pk, "member": "rhea"}).status_code == 422
    assert client.post(member, {"person": who.reviewer.pk, "member": "U01"}).status_code == 303
    assert client.post(member, {"person": who.operator.pk, "member": "U01"}).status_code == 422
    assert slack_links.person_of("T01", "U01") == who.reviewer
    assert client.post(member, {"person": who.reviewer.pk, "end": "1"}).status_code == 303
    assert slack_links.person_of("T01", "U01") is None
    slack_links.link(who.reviewer.pk, team="T01", member="U01", by=Actor(user=who.admin))
    mine = signed_in(as_, who.reviewer)
    assert "You are <code>U01</code> there" in mine.get(reverse("notifications")).content.decode()
    assert mine.post(reverse("slack-link"), {"end": "1"}).status_code == 303
    assert re.search(r"/ckptsite link [\w-]{16}<", mine.post(reverse("slack-link")).content.decode())
