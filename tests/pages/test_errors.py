"""When something doesn't work: one sentence, the right status, whole for a page and a box for htmx."""

from __future__ import annotations

import io
import logging
import re

import pytest
from django.db import OperationalError
from django.test import Client
from django.urls import reverse

from ckptsite import request_ids
from runs.selectors import inbox, queue
from tests import factories
from tests.pages.conftest import As
from tests.pages.test_decisions import fields

pytestmark = pytest.mark.django_db(transaction=True)

HTMX = {"HX-Request": "true"}


def test_a_database_that_is_away_is_503_with_a_time_to_come_back(
    who: factories.People, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = as_(who.reviewer)

    def away(*_: object, **__: object) -> None:
        raise OperationalError("the connection is closed")

    monkeypatch.setattr(inbox, "page", away)
    for headers in ({}, HTMX):
        response = client.get(reverse("inbox"), headers=headers)
        assert response.status_code == 503
        assert response["Retry-After"]
        assert "Runs wait and lose nothing" in response.content.decode()
    monkeypatch.undo()
    monkeypatch.setattr(queue, "badge", away)  # first asked for in the middle of drawing the page
    assert client.get(reverse("runs")).status_code == 503


def test_a_mistake_of_ours_is_500_and_says_so(
    who: factories.People, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = as_(who.reviewer)
    client.raise_request_exception = False

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(inbox, "page", broken)
    response = client.get(reverse("inbox"))
    page = response.content.decode()
    assert response.status_code == 500
    assert "The server made a mistake" in page
    assert "secret detail" not in page
    assert "no-store" in response["Cache-Control"]


def test_a_fault_can_be_quoted_by_the_id_of_its_request(
    who: factories.People, as_: As, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same id in the answer, on the page and in the log; a plain one that is brought along is kept."""
    client = as_(who.reviewer)
    client.raise_request_exception = False
    assert re.fullmatch("[0-9a-f]{16}", client.get(reverse("runs"))[request_ids.HEADER])

    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("secret detail")

    monkeypatch.setattr(inbox, "page", broken)
    for brought, kept in (
        ("gate-7.A_b", True),
        ("short", False),
        ("a b c d e f g h", False),
        ("x" * 65, False),
    ):
        handler = logging.StreamHandler(io.StringIO())
        handler.setFormatter(logging.getLogger().handlers[0].formatter)
        logging.getLogger().addHandler(handler)
        try:
            response = client.get(reverse("inbox") + "?q=Fern", headers={request_ids.HEADER: brought})
        finally:
            logging.getLogger().removeHandler(handler)
        name = response[request_ids.HEADER]
        assert (name == brought) is kept
        assert f"quote request <code>{name}</code>" in response.content.decode()
        said = handler.stream.getvalue()
        assert name in said
        assert "Fern" not in said


def test_fragments_get_the_box_only(who: factories.People, as_: As) -> None:
    client = as_(who.reviewer)
    whole = client.get("/runs/4242/").content.decode()
    part = client.get("/runs/4242/", headers=HTMX).content.decode()
    assert "<html" in whole
    assert "There is no run 4242 here." in whole
    assert "<html" not in part
    assert part.strip().startswith('<div class="empty" id="error-box">')
    assert "There is no run 4242 here." in part


def test_a_form_without_its_token_is_refused_with_a_sentence(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    response = as_(who.reviewer).post(reverse("review", args=[review.pk]), {"verdict": "approve"})
    assert response.status_code == 403
    assert "This form is too old" in response.content.decode()


def test_every_form_of_every_page_passes_with_its_own_token(
    who: factories.People, house: factories.House, as_: As
) -> None:
    places = [reverse("inbox"), reverse("runs")]
    for run in house.runs:
        places += [reverse(name, args=[run.pk]) for name in ("run", "run-plan")]
        places += [reverse("review", args=[row.pk]) for row in run.reviews.all()]
    client = as_(who.admin)
    seen = 0
    for place in places:
        page = client.get(place).content.decode()
        assert "hx-headers:inherited=" in page
        for form in re.findall(r"<form.*?</form>", page, re.DOTALL):
            if 'method="get"' in form:
                continue  # a filter changes nothing
            assert 'method="post"' in form, place
            assert "csrfmiddlewaretoken" in form, place
            action = re.search(r'action="([^"]+)"', form)
            assert action, place
            if action[1] == reverse("logout"):
                continue
            # Without its other fields nothing is accepted, but the token is: anything but the page about it.
            token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', form)
            assert token
            response = client.post(action[1], {"csrfmiddlewaretoken": token[1]})
            assert "This form is too old" not in response.content.decode(), (place, action[1])
            seen += 1
    assert seen > 20


def test_a_stop_without_a_reason_is_422(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    client = as_(who.operator)
    place = reverse("run-stop", args=[review.run_id])
    page = client.get(reverse("run", args=[review.run_id])).content.decode()
    response = client.post(place, fields(page, form=place))
    assert response.status_code == 422
    assert "Say why the run is stopped" in response.content.decode()


def test_wrong_methods_and_odd_addresses(who: factories.People, as_: As) -> None:
    client = as_(who.reviewer)
    assert client.put(reverse("inbox")).status_code in {403, 405}
    assert client.get("/reviews/0/").status_code == 404
    assert client.get("/reviews/abc/").status_code == 404
    assert client.get("/inbox/?only=%00&tab=%ff").status_code == 200
    assert client.get("/inbox/?done=99999999999999999999").status_code == 200
    assert Client().get("/nothing/").status_code == 404
    only_forms = client.get(reverse("run-stop", args=[1]))
    assert only_forms.status_code == 405
    assert only_forms["Allow"] == "POST"
    assert "There is no page at this address" in only_forms.content.decode()
