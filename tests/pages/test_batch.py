"""Deciding many together: what goes together, what is shown of it, and that what was shown is what is decided."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from runs import models
from tests import factories
from tests.engine.conftest import answer, go
from tests.engine.world import World
from tests.pages.conftest import As
from tests.pages.test_pages import queries, text

pytestmark = pytest.mark.django_db(transaction=True)
BATCH = "/reviews/batch/"


def address(reviews: list[models.Review]) -> str:
    """Where the inbox's form leads with these selected."""
    return f"{BATCH}?{'&'.join(f'review={row.pk}' for row in reviews)}"


def form(page: str, *ticked: models.Review, **more: Any) -> dict[str, Any]:
    """What a browser sends of the page with these ticked."""
    fields: dict[str, Any] = dict(re.findall(r'name="(seen-\d+)" value="([^"]*)"', page))
    fields["review"] = re.findall(r'type="hidden" name="review" value="(\d+)"', page)
    return fields | {"item": [row.pk for row in ticked], "group": 1, **more}


def ticked(page: str) -> int:
    """How many questions are ticked."""
    return len(re.findall(r'name="item" [^>]*checked', page))


def send(client: Client, fields: dict[str, Any]) -> tuple[int, str]:
    """Send it: the status, and the page with its lines on one."""
    client.handler.enforce_csrf_checks = False
    response = client.post(BATCH, fields)
    return response.status_code, " ".join(response.content.decode().split())


def test_what_goes_together_is_of_one_shape(who: factories.People, house: factories.House, as_: As) -> None:
    """One table for the letters with only what differs; the rest by themselves, each with its reason."""
    more = [factories.held(who.operator, name=f"<i>letter {n}</i>") for n in range(2)]
    other = factories.held(who.operator, tool="idempotent")
    reviews = list(models.Review.objects.filter(status="open"))
    client = as_(who.admin)
    page = text(client, address(reviews))
    groups = re.findall(r'<h2 id="group-\d+">(\d+) . ([^<]*)</h2>', page)
    assert sorted(groups) == [("1", "world.idempotent"), ("3", "world.lookup")]
    assert "&lt;i&gt;letter 0&lt;/i&gt;" in page
    assert '<th scope="col">Name</th></tr>' in page  # note and amount are the same in all
    assert "At most 5 of these can be approved at once." in page
    assert page.count("Open and tick") == 4
    assert ticked(page) == 0  # what goes out is ticked by a person, one by one
    for reason in ("What can&#x27;t be undone is decided by itself.", "Only approvals of actions"):
        assert reason in page
    answer(more[0], who.reviewer, "reject")
    models.Review.objects.filter(pk=other.pk).update(tier=1)
    page = text(client, address(reviews))
    assert "It is no longer asked." in page
    assert (
        len(re.findall(r'name="item" value="\d+" id="item-\d+" checked', page)) == 1
    )  # tier 1 may start ticked
    assert "Nothing is selected" in text(client, BATCH)
    assert "Nothing is selected" in text(client, f"{BATCH}?review=x&review=%00&review=99999999")
    few, many = (queries(client, address(found)) for found in ([reviews[0], more[1]], reviews))
    assert few <= many <= 14


def test_what_was_shown_is_what_is_decided(who: factories.People, as_: As) -> None:
    """Five letters: one decided meanwhile, one changed meanwhile. The others are done, and each is told of."""
    reviews = [factories.held(who.operator, name=f"letter {n}") for n in range(5)]
    client = as_(who.reviewer)
    page = text(client, address(reviews))
    assert send(client, form(page, verdict="approve", reason="read"))[0] == 422
    status, again = send(client, form(page, *reviews, verdict="reject", reason=" "))
    assert (status, "Say why you reject them" in again) == (422, True)
    assert ticked(again) == 5  # what was ticked stays so
    assert again.count("<details open>") == 5
    kept = {html.unescape(found) for found in re.findall(r'action="([^"]*batch/[^"]*)"', again)}
    assert kept == {
        address(sorted(reviews, key=lambda row: row.pk))
    }  # the address of the page that was refused
    folded = send(client, form(page, verdict="reject", reason="", unfolded=str(reviews[0].pk)))[1]
    assert folded.count("<details open>") == 1
    status, again = send(client, form(page, *reviews, verdict="approve"))
    assert (status, "at this tier every approval needs a reason" in again) == (422, True)
    assert not models.Decision.objects.exists()
    answer(reviews[1], factories.person("nora", "reviewer"), "reject", reason="Wrong customer.")
    models.Review.objects.filter(pk=reviews[2].pk).update(revision=2)
    fields = form(page, *reviews, verdict="approve", reason="Read each of them.")
    status, told = send(client, fields)
    assert (status, "3 of 5 approved" in told) == (200, True)
    assert "nora rejected this first; nothing you typed was used." in told
    assert "This has changed since you opened it" in told
    assert "3 of 5 approved" in send(client, fields)[1]  # the same form again decides nothing twice
    own = models.Decision.objects.filter(person=who.reviewer)
    assert sorted(own.values_list("review", flat=True)) == [reviews[n].pk for n in (0, 3, 4)]
    for review in reviews:
        go(review.run)
    assert sorted(line["name"] for line in World.effects()) == ["letter 0", "letter 3", "letter 4"]


def test_the_cap_and_what_changed_since_it_was_ticked(who: factories.People, as_: As) -> None:
    reviews = [factories.held(who.operator, name=f"letter {n}") for n in range(6)]
    client = as_(who.reviewer)
    page = text(client, f"{address(reviews)}&from=tab%3Dteam")
    assert "There are 6; the others can follow." in page
    models.Review.objects.filter(pk=reviews[0].pk).update(evidence_number=1)
    fields = form(page, *reviews, verdict="approve", reason="Kept <b>text</b>", **{"from": "tab=team"})
    status, again = send(client, fields)
    assert (status, "At most 5 of these can be approved at once." in again) == (422, True)
    assert "Kept &lt;b&gt;text&lt;/b&gt;" in again
    assert (ticked(again), again.count("has changed since you ticked it")) == (5, 1)
    status, told = send(client, {**fields, "item": [row.pk for row in reviews[1:4]], "verdict": "reject"})
    assert (status, "3 of 3 rejected" in told) == (200, True)
    assert "Go on with the other 3" in told
    assert f"{reverse('inbox')}?tab=team" in told
