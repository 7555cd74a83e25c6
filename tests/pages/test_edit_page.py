"""The edit page: fields and exact JSON, checked by the tool while one types, saved as the next revision."""

from __future__ import annotations

import html
import re
from unittest import mock

import pytest
from django.test import Client
from django.urls import reverse

from runs import models, tasks
from runs.engine import rehearsing
from tests import factories
from tests.engine.conftest import answer, go
from tests.engine.world import World
from tests.forms import order
from tests.forms.browser import sent
from tests.pages.conftest import As
from tests.pages.test_decisions import fields, send
from tests.pages.test_pages import text

pytestmark = pytest.mark.django_db(transaction=True)
LATER = '{"amount": "1.00", "name": "parcel", "note": "by hand"}'
Form = dict[str, list[str]]


def place(review: models.Review) -> str:
    """The address of the edit page."""
    return reverse("review-edit", args=[review.pk])


def drawn(client: Client, review: models.Review) -> Form:
    """The form as a browser would send it untouched, but for the buttons."""
    return sent(text(client, place(review)), form="edit")


def test_fields_buttons_and_json_are_one_form(who: factories.People, as_: As) -> None:
    review = order.asked(who.operator, letter=True)
    client, there = as_(who.reviewer), place(review)
    page = text(client, there)
    for words in ("letter.txt", "At most 2000 characters", "Exact JSON", 'role="radiogroup"', "4711"):
        assert words in page
    form = drawn(client, review)
    assert "a-7" not in form  # nobody types a file, nor what the tool keeps to itself
    assert "a-8" not in form

    refused = client.post(there, form | {"act": "save", "reason": "x"})
    assert (refused.status_code, "Nothing is changed" in refused.content.decode()) == (422, True)

    added = client.post(there, form | {"act": "add:a-6", "a-0": "right@example.org"})
    again = sent(added.content.decode(), form="edit")
    assert (added.status_code, again["a-6:rows"], again["a-0"]) == (
        200,
        ["", "0", "1", "n1"],
        ["right@example.org"],
    )

    again["a-6-n1-1"] = ["12"]
    checked = client.post(there, again | {"act": "check", "a-2": "-1"})
    said = checked.content.decode()
    assert checked.status_code == 422
    assert "Amount: Input should be greater than 0." in said
    assert "Article: String should have at least 1 character." in said
    assert 'id="a-2-error"' in said

    live = client.post(there, again | {"act": "live", "a-2": "-1"}, headers={"HX-Request": "true"})
    said = live.content.decode()
    assert live.status_code == 422
    assert 'id="a-2-note" hx-swap-oob="true"' in said
    assert "<textarea" not in said  # no control is drawn again: what is being typed stays

    whole = again | {"a-6-n1-0": "pens", "a-3": "1", "a-4": "true"}
    as_json = client.post(there, whole | {"act": "tab:json"})
    typed = sent(as_json.content.decode(), form="edit")
    assert '"article": "pens"' in typed["arguments"][0]
    other = typed["arguments"][0].replace("letter.txt", "other.txt")
    moved = client.post(there, typed | {"act": "save", "reason": "Wrong address.", "arguments": other})
    assert "is not one that was proposed" in moved.content.decode()
    back = client.post(there, typed | {"act": "tab:fields"})
    last = sent(back.content.decode(), form="edit")
    assert last["a-6-2-0"] == ["pens"]

    saved = client.post(there, last | {"act": "save", "reason": "Wrong address."})
    assert saved.status_code == 303
    go(review.run)
    page = text(client, reverse("review", args=[review.pk]))
    assert "Changed by reviewer-1" in page
    action = models.Action.objects.get(run=review.run)
    now = action.arguments()
    assert (now["to"], now["way"], now["urgent"]) == ("right@example.org", "courier", True)
    assert now["lines"][-1] == {"article": "pens", "count": 12}
    assert now["text"] == order.ARGUMENTS["text"]  # line breaks are as they were
    answer(models.Review.objects.get(pk=review.pk), who.reviewer, "approve")
    run = go(review.run)
    told = models.Entry.objects.get(run=run, kind="result", content__contains="Ordered").content["text"]
    assert 'to from "wrong@example.org" to "right@example.org"' in told
    assert told.endswith("Reason: Wrong address.")


def test_other_arguments_are_a_new_revision_of_the_same_question(who: factories.People, as_: As) -> None:
    """Edited, prepared anew, then decided by the same person; what was read before can't be approved any more."""
    review = factories.held(who.operator, name="parcel")
    client, there = as_(who.reviewer), reverse("review", args=[review.pk])
    page = text(client, there)
    assert f'href="{place(review)}" data-hotkey="e"' in page
    old = fields(page, form='value="approve"') | {"verdict": "approve", "reason": "Looked."}
    form = drawn(client, review) | {
        "tab": "json",
        "arguments": LATER,
        "reason": "With a note.",
        "act": "save",
    }
    assert client.post(place(review), form).status_code == 303
    page = text(client, there)
    assert "What will happen is being worked out anew" in page
    assert "Exact arguments" not in page  # nobody is shown what won't run
    waits = f"{there}?part=live&preparing=1"
    assert "HX-Refresh" not in client.get(waits).headers
    assert "This was changed just now" in text(client, place(review))
    assert send(client, review, old).status_code == 409
    go(review.run)
    assert client.get(waits)["HX-Refresh"] == "true"
    page = text(client, there)
    assert "Changed by reviewer-1" in page
    assert "With a note." in page
    new = fields(page, form='value="approve"') | {"verdict": "approve", "reason": "Looked."}
    assert (new["revision"], send(client, review, new).status_code) == ("2", 303)
    assert go(review.run).status == "succeeded"
    assert models.Action.objects.get(run=review.run).arguments()["note"] == "by hand"
    log = text(client, reverse("run", args=[review.run_id]))
    for words in ("Changed by you: ", "With a note.", ", as it was proposed first"):
        assert words in log, words
    review.refresh_from_db()
    assert log.count(f"Asked a person: {review.title}") == 1
    assert "no longer asked" in text(client, place(review))


def test_arguments_that_do_not_fit_stay_typed(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator, name="parcel")
    client = as_(who.reviewer)
    form = drawn(client, review) | {"tab": "json", "act": "save"}
    for arguments, reason, sentence in (
        ("{", "why", "JSON"),
        ('{"amount": 1}', "why", "name: Field required."),
        (LATER, " ", "reason"),
    ):
        refused = client.post(place(review), form | {"arguments": arguments, "reason": reason})
        page = refused.content.decode()
        assert refused.status_code == 422
        assert sentence.lower() in page.lower()
        assert arguments.replace('"', "&quot;") in page
    review.refresh_from_db()
    assert review.revision == 1


def test_who_comes_second_keeps_what_they_typed_over_the_new_state(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator, name="parcel")
    client = as_(who.reviewer)
    form = drawn(client, review)
    first = form | {"a-2": "2.00", "reason": "Sum.", "act": "save"}
    assert client.post(place(review), first).status_code == 303
    go(review.run)
    second = client.post(place(review), form | {"a-1": "my note", "reason": "Note.", "act": "save"})
    page = second.content.decode()
    assert second.status_code == 409
    assert "This has changed since you opened it" in page
    kept = sent(page, form="edit")
    assert (kept["a-1"], kept["reason"], kept["revision"]) == (["my note"], ["Note."], ["2"])
    assert "<del>2.00</del>" in page  # the difference to the new state
    again = client.post(place(review), kept | {"a-2": "2.00", "act": "save"})
    assert again.status_code == 303


def test_a_worker_says_what_would_happen_before_anything_is_saved(who: factories.People, as_: As) -> None:
    """The preview of the edited arguments against that of what is asked, and what policy would say; asked once."""
    review = order.asked(who.operator)
    client, there = as_(who.reviewer), place(review)
    form = drawn(client, review) | {"a-0": "right@example.org", "act": "try"}
    page = client.post(there, form).content.decode()
    assert "A worker is trying it out" in page
    asked = re.search(r'hx-get="([^"]+part=try[^"]+)"', page)
    assert asked is not None
    client.post(there, form)
    row = models.Rehearsal.objects.get()
    assert rehearsing.rehearse(row.pk)
    assert not rehearsing.rehearse(row.pk)
    found = text(client, f"{there}?part=try")
    assert "Orders 2 lines from right@example.org." in found
    assert "<del>wrong</del>" in found
    assert "Still asked about: one person of the group reviewer" in found
    assert (
        "Orders 2 lines from right@example.org." in client.post(there, form).content.decode()
    )  # without scripts
    assert models.Rehearsal.objects.get().pk == row.pk
    assert "A worker can say" in text(as_(who.admin), there)  # to everybody their own
    typed = client.post(
        there, form | {"act": "live", "a-0": "else@example.org"}, headers={"HX-Request": "true"}
    )
    assert "What was tried out before were other arguments" in typed.content.decode()
    client.post(there, form | {"a-0": "broken@example.org"})
    found = text(client, html.unescape(asked[1]))  # the page where the other arguments still stand
    assert "What was tried out before were other arguments" in found
    with mock.patch.object(order.Order, "preview", side_effect=ValueError("no such supplier")):
        tasks.rehearse(models.Rehearsal.objects.get().pk)
    assert "could not be worked out: no such supplier" in text(client, f"{there}?part=try")
    review.refresh_from_db()
    assert (review.revision, models.Fact.objects.filter(kind="edited").count()) == (1, 0)
    assert client.post(there, form | {"a-0": "nobody"}).status_code == 422


def test_what_was_done_already_is_said_before_and_after_it_is_saved(who: factories.People, as_: As) -> None:
    """Made just what stands, the question is closed with that: the try says so, and so does the page afterwards."""
    review = factories.second(who)
    client, there = as_(who.reviewer), place(review)
    form = drawn(client, review) | {"a-2": "1.00"}
    client.post(there, form | {"act": "try"})
    assert rehearsing.rehearse(models.Rehearsal.objects.get().pk)
    tried = text(client, f"{there}?part=try")
    assert "Nothing more: just this is done already." in tried
    assert "Did parcel. Saved, it is closed with that" in tried
    assert "Still asked about" not in tried
    assert client.post(there, form | {"act": "save", "reason": "As it was."}).status_code == 303
    assert go(review.run).status == "succeeded"
    page = text(client, reverse("review", args=[review.pk]))
    assert f"Did parcel. That was in run {review.run.root_id}, " in page
    assert "it is not done again." in page
    assert len(World.effects("parcel")) == 1


def test_looking_changes_nothing(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator, name="parcel")
    client = as_(who.reviewer)
    for _ in range(5):
        client.get(f"{place(review)}?act=save&reason=x&a-0=y")
    client.head(place(review))
    review.refresh_from_db()
    assert (review.revision, models.Fact.objects.filter(kind="edited").count()) == (1, 0)
