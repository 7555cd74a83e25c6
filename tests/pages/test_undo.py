"""Taking an effect back on the pages: the button, the question, what it looks like afterwards."""

from __future__ import annotations

import re

import pytest
from django.test import Client
from django.urls import reverse

from runs import models
from tests import factories
from tests.engine.conftest import answer, go, only_review, step
from tests.pages.conftest import As
from tests.pages.test_pages import text
from tests.rules.branching import checkpoint, redrive, through

pytestmark = pytest.mark.django_db(transaction=True)


def sent(client: Client, address: str, **more: str) -> dict[str, str]:
    """The hidden fields of the page's one form that takes something back, with what is typed."""
    page = text(client, address)
    form = page[page.index('action="' + address.replace("/effects/", "/effects/undo/")) :]
    names = ("csrfmiddlewaretoken", "occurrence", "token")
    found = {}
    for name in names:
        value = re.search(rf'name="{name}" value="([^"]+)"', form)
        assert value, name
        found[name] = value[1]
    return found | more


def test_an_effect_is_taken_back_from_its_page(who: factories.People, as_: As) -> None:
    run = through(factories.start(who.operator, step("back", "mail")), who.reviewer)
    address, undo = reverse("run-effects", args=[run.pk]), reverse("run-undo", args=[run.pk])
    client = as_(who.operator)
    assert "Take it back" not in text(as_(who.viewer), address)
    given = sent(client, address)
    empty = client.post(undo, given | {"reason": " "})
    assert empty.status_code == 422
    assert "Say why it is taken back" in empty.content.decode()
    asked = client.post(undo, given | {"reason": "Wrong customer"})
    new = models.Run.objects.exclude(pk=run.pk).get()
    assert (asked.status_code, asked["Location"]) == (303, reverse("run", args=[new.pk]))
    assert client.post(undo, given | {"reason": "Wrong customer"})["Location"] == asked["Location"]
    again = client.post(undo, given | {"reason": "Me too", "token": "another"})
    assert (again.status_code, "Me too" in again.content.decode()) == (409, True)
    page = text(client, address)
    assert f'To be taken back by <a href="{reverse("run", args=[new.pk])}">run {new.pk}</a>' in page
    assert "Ask to take it back" not in page
    review = only_review(go(new))
    question = text(as_(who.reviewer), reverse("review", args=[review.pk]))
    assert "Did mail." in text(as_(who.reviewer), f"{reverse('inbox')}?tab=team")
    assert "asked for it: Wrong customer" in question
    assert "Ask back" not in question
    timeline = text(client, reverse("run", args=[new.pk]))
    assert "Asked for: This is taken back: Did mail." in timeline
    answer(review, who.reviewer, "approve")
    assert go(new).status == "succeeded", new.error
    assert "Taken back afterwards: “" in text(client, reverse("run", args=[run.pk]))
    page = text(client, address)
    assert f'Taken back by <a href="{reverse("run", args=[new.pk])}">run {new.pk}</a>' in page
    assert "Undone" in page
    assert re.search(rf"Run \D*{new.pk}\D* takes something of it back", re.sub(r"<[^>]+>", "", page))
    own = text(client, reverse("run-effects", args=[new.pk]))
    assert "Takes something back" in own
    assert "Takes back one effect" in own
    assert "Ends as soon as this is done" in text(client, reverse("run", args=[new.pk]))


def test_no_button_where_nothing_takes_it_back_and_no_other_work_is_reached(
    who: factories.People, as_: As
) -> None:
    run = through(factories.start(who.operator, step("lookup", "mail")), who.reviewer)
    client = as_(who.operator)
    assert "Take it back" not in text(client, reverse("run-effects", args=[run.pk]))
    other = through(factories.start(who.operator, step("back", "mail")), who.reviewer)
    effect = models.Occurrence.objects.get(root=other)
    given = sent(client, reverse("run-effects", args=[other.pk]), reason="x")
    assert client.post(reverse("run-undo", args=[run.pk]), given).status_code == 404
    assert client.post(reverse("run-undo", args=[other.pk]), given | {"occurrence": "x"}).status_code == 404
    effect.refresh_from_db()
    assert effect.state == "standing"


def test_undo_first_is_chosen_on_the_page_of_the_checkpoint(who: factories.People, as_: As) -> None:
    run = through(factories.start(who.operator, step("back", "mail")), who.reviewer)
    effect = models.Occurrence.objects.get(root=run)
    client, address = as_(who.operator), reverse("run-redrive", args=[run.pk])
    page = text(client, f"{address}?checkpoint=1")
    assert f'name="effect.{effect.pk}" value="undo_first"' in page
    token = re.findall(r'name="csrfmiddlewaretoken" value="([^"]+)"', page)[-1]
    form = {"checkpoint": "1", "seen": str(run.pk), "token": "first", "csrfmiddlewaretoken": token}
    form |= {f"effect.{effect.pk}": "undo_first", "verb": "redrive"}
    empty = client.post(address, form | {"reason": " "})
    assert re.search(r'value="undo_first" checked', empty.content.decode())
    assert client.post(address, form | {"reason": "Anew"}).status_code == 303
    new = models.Run.objects.exclude(pk=run.pk).get()
    undo = only_review(go(new)).action
    assert undo is not None
    assert undo.undo_of_id == effect.pk


def test_what_was_done_is_taken_back_from_the_question_about_other_arguments(
    who: factories.People, as_: As
) -> None:
    run = through(factories.start(who.operator, step("back", "mail")), who.reviewer)
    effect, action = models.Occurrence.objects.get(root=run), models.Action.objects.get(run=run)
    edited = {(action.reply_position, action.call_index): {"name": "mail", "amount": "2.00"}}
    new = go(redrive(run, checkpoint(run, "before_irreversible"), who.operator, arguments=edited))
    review = only_review(new)
    client, address = as_(who.reviewer), reverse("review", args=[review.pk])
    page = text(client, address)
    assert "Take that back, then do this" in page
    form = page[page.index('id="wider"') :]
    names = ("csrfmiddlewaretoken", "revision", "digest", "token", "evidence_number", "rendered_at")
    given = {name: (re.search(rf'name="{name}" value="([^"]*)"', form) or ["", ""])[1] for name in names}
    given |= {"verdict": f"undo-{effect.pk}", "reason": ""}
    empty = client.post(address, given)
    assert empty.status_code == 422
    assert "Say why what was done is taken back" in empty.content.decode()
    assert client.post(address, given | {"reason": "Wrong sum"}).status_code == 303
    undo = only_review(go(new)).action
    assert undo is not None
    assert undo.undo_of_id == effect.pk
    timeline = text(client, reverse("run", args=[new.pk]))
    assert "wants what was done before taken back" in timeline.lower()
