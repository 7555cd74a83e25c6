"""Every page and every part of one is valid HTML, by the Nu HTML checker; only htmx's attributes are its own."""

from __future__ import annotations

import pytest
from django.test import Client
from django.urls import reverse

from runs import causes, models
from tests import factories, inspecting
from tests.pages import html_check
from tests.pages.conftest import As
from tests.pages.test_pages import HIDDEN, RUN_PAGES
from tests.pages.test_roles import ONLY_POST, OPEN_TO_ALL, STREAM, address, routes

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_page_is_valid(who: factories.People, house: factories.House, as_: As) -> None:
    factories.held(who.operator, name=HIDDEN, title='Hidden <characters> & "marks"')
    client = as_(who.admin)
    places = [address(name, house) for name in routes() if name not in {*OPEN_TO_ALL, *ONLY_POST, STREAM}]
    places += [reverse("review", args=[pk]) for pk in models.Review.objects.values_list("pk", flat=True)]
    places += [reverse(name, args=[run.pk]) for run in house.runs for name in RUN_PAGES]
    places += [
        reverse("run-redrive", args=[house.failed.pk]),
        reverse("run-plan-edit", args=[house.paused.pk]),
    ]
    places += [f"{reverse('runs-redrive')}?cause={causes.key(house.failed.error)}"]
    places += inspecting.paths(who)
    pages = {reverse("login"): Client().get(reverse("login")).content.decode()}
    for place in dict.fromkeys(places):
        answer = client.get(place)
        if answer.headers["Content-Type"].startswith("text/html"):
            pages[place] = answer.content.decode()
    # What is swapped into a page is looked at as if it stood in one.
    for place in (
        reverse("run", args=[house.asked.pk]),
        reverse("review", args=[house.asked.reviews.get().pk]),
    ):
        part = client.get(f"{place}?part=live").content.decode()
        pages[f"{place}?part=live"] = f"<!doctype html><html lang=en><title>Part</title><h1>Part</h1>{part}"
    pages["404"] = client.get("/nowhere/").content.decode()
    pages["mistake"] = (
        "<!doctype html><html lang=en><title>M</title><h1>M</h1><p hx-get='/x/'><ul><div>M</div></ul>"
    )
    found = html_check.problems(pages)
    assert [problem for problem in found if not problem.startswith("mistake, ")] == []
    assert found  # it does look
