"""Taking an approval back, and what the old question says afterwards."""

from __future__ import annotations

import re
from typing import cast

import pytest
from django.conf import settings
from django.test import Client, RequestFactory
from django.urls import reverse

from runs.views import doors, flash
from tests import factories
from tests.engine.conftest import go, only_review
from tests.engine.world import World
from tests.pages.conftest import As
from tests.pages.test_decisions import fields, opened, send

pytestmark = pytest.mark.django_db(transaction=True)


def test_an_approval_can_be_taken_back_in_its_window(
    who: factories.People, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.CKPTSITE, "UNDO_WINDOW_2", 60.0)
    review = factories.held(who.operator)
    client = as_(who.reviewer)
    response = send(client, review, opened(client, review))
    page = client.get(response["Location"]).content.decode()
    place = reverse("review-withdraw", args=[review.pk])
    assert place in page
    token = fields(page, form=place)
    page_before = f"http://testserver{reverse('inbox')}?only=out&done={review.pk}"
    response = client.post(place, token, headers={"referer": page_before})
    assert (response.status_code, response["Location"]) == (303, f"{reverse('inbox')}?only=out")
    old = reverse("review", args=[review.pk])
    page = client.get(response["Location"]).content.decode()
    assert f'Nothing was done; <a href="{old}">it is asked again</a>' in page
    assert client.post(place, token).status_code == 303  # a double click
    other = Client()
    other.force_login(who.admin)
    late = other.post(place)
    assert (late.status_code, "took it back already" in late.content.decode()) == (409, True)
    run = go(review.run)
    assert World.effects() == []
    again = only_review(run)
    assert again.pk != review.pk
    page = client.get(old).content.decode()
    assert "You took it back." in page
    assert "Taken back" in page
    assert "No longer asked" not in page
    assert re.search(rf'href="{reverse("review", args=[again.pk])}">It is asked again here', page)
    page = as_(who.admin).get(old).content.decode()
    assert f"{who.reviewer.display()} took it back." in page


def test_leading_back_never_leaves_the_site(
    who: factories.People, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.CKPTSITE, "UNDO_WINDOW_2", 60.0)
    review = factories.held(who.operator)
    client = as_(who.reviewer)
    form = opened(client, review)
    send(client, review, form)
    place = reverse("review-withdraw", args=[review.pk])
    token = {"csrfmiddlewaretoken": form["csrfmiddlewaretoken"]}
    response = client.post(place, token, headers={"referer": "https://elsewhere.example/x"})
    assert response["Location"] == reverse("review", args=[review.pk])
    for odd in ("http://testserver//elsewhere.example/", "http://testserver/\\elsewhere.example", "http://["):
        request = RequestFactory().post(place, headers={"referer": odd})
        assert flash.back(cast(doors.Request, request), otherwise="here") == "here"


def test_who_decided_reads_you(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    client = as_(who.reviewer)
    send(client, review, opened(client, review))
    place = reverse("review", args=[review.pk])
    assert "You approved this." in client.get(place).content.decode()
    assert f"{who.reviewer.display()} approved this." in as_(who.admin).get(place).content.decode()
