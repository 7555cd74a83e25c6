"""The forms beside approve and reject: the wider answers, more time, and separate work."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from runs import models
from tests import factories
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World
from tests.pages.conftest import As
from tests.pages.test_decisions import fields, send
from tests.pages.test_pages import text

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize(
    ("verdict", "given", "missing", "said"),
    [
        ("ask_back", {"reason": "Net or gross?"}, "reason", "reviewer-1 asks: Net or gross?"),
        ("by_hand", {"reason": "Urgent.", "receipt": "Parcel 17"}, "receipt", "did it by hand. Parcel 17"),
    ],
)
def test_a_wider_answer_is_taken_from_its_form(
    who: factories.People, as_: As, verdict: str, given: dict[str, str], missing: str, said: str
) -> None:
    """Without its words it is 422 and the form stays open with the choice; with them the call is closed so."""
    review = factories.held(who.operator, name="parcel")
    client = as_(who.reviewer)
    form = fields(text(client, reverse("review", args=[review.pk])), form=f'value="{verdict}"')
    whole = form | {"verdict": verdict} | given
    refused = send(client, review, whole | {missing: " "})
    page = refused.content.decode()
    assert refused.status_code == 422
    assert '<details class="way" name="way" id="wider" open>' in page
    assert f'value="{verdict}" required checked' in page or f'value="{verdict}" checked' in page
    assert send(client, review, whole).status_code == 303
    run = go(review.run)
    assert run.status == "succeeded"
    assert said in text(client, reverse("run-transcript", args=[run.pk]))
    assert World.effects() == []


def test_what_was_done_with_other_arguments_is_kept_from_the_page(who: factories.People, as_: As) -> None:
    """What approving would repeat stands on top with what differs; keeping it is the first answer, none is open."""
    review, client = factories.second(who), as_(who.reviewer)
    assert "Maybe a second one" in text(client, reverse("inbox"))
    page = text(client, reverse("review", args=[review.pk]))
    top, ways = page.split('id="decide"')
    assert "The same was done before, with other arguments" in top
    assert "Did parcel." in top
    assert "<del>1.00</del> → <ins>2.00</ins>" in top
    assert "First time" not in page
    assert "Beside the last one approved" not in page
    assert re.findall(r'<details class="way[^"]*" name="way" id="([^"]+)"([^>]*)>', ways)[:3] == [
        ("keep", ""), ("approve", ""), ("reject", "")]  # fmt: skip
    assert "A second one will go out" in ways
    done = models.Occurrence.objects.get(root=review.run.root_id)
    form = fields(page, form='value="approve"')
    unsaid = send(client, review, form | {"reason": " "})
    assert (unsaid.status_code, "once more, beside what was done" in unsaid.content.decode()) == (422, True)
    form = fields(page, form=f'value="keep-{done.pk}"') | {"reason": "As agreed."}
    assert send(client, review, form | {"reason": ""}).content.decode().count('id="f-keep-reason-error"') == 1
    assert send(client, review, form | {"verdict": "keep-999999"}).status_code == 422
    assert send(client, review, form).status_code == 303
    new = go(review.run)
    assert new.status == "succeeded"
    assert len(World.effects("parcel")) == 1
    assert "kept what was done before" in text(client, reverse("run-transcript", args=[new.pk]))


def test_what_is_done_already_in_the_run_is_marked_and_asked_about_by_itself(
    who: factories.People, as_: As
) -> None:
    """Nothing can be kept in its place, so the mark and a reason for the second one is all; it goes in no batch."""
    run = go(factories.start(who.operator, step("allowed", "pay"), step("allowed", "pay", id="twice")))
    review, client = only_review(run), as_(who.reviewer)
    page = text(client, reverse("review", args=[review.pk]))
    assert "The same is done already in this run" in page
    assert "word for word" in page
    assert "It happens a second time" in page
    assert 'id="keep"' not in page
    assert "asked about twice" in text(client, f"{reverse('batch')}?review={review.pk}")


def test_a_question_is_given_more_time(who: factories.People, as_: As) -> None:
    """2.6: with a reason its end moves; without one what was typed stays; once it is closed it is 409."""
    review = factories.held(who.operator, name="parcel")
    client, place = as_(who.reviewer), reverse("review-extend", args=[review.pk])
    before = review.expires_at
    assert before is not None
    form = fields(text(client, reverse("review", args=[review.pk])), form="f-extend-reason")
    refused = client.post(place, form | {"reason": " "})
    assert refused.status_code == 422
    assert "Say why it needs more time." in refused.content.decode()
    assert client.post(place, form | {"reason": "Waiting for the bank."}).status_code == 303
    review.refresh_from_db()
    assert review.expires_at is not None
    assert review.expires_at > before
    answer(review, who.reviewer, "reject")
    assert client.post(place, form | {"reason": "Still waiting."}).status_code == 409


def test_separate_work_begins_after_its_list_was_read(who: factories.People, as_: As) -> None:
    """1.5: the list names what won't count as done; unread or changed since it is refused and what was typed stays."""
    old = go(factories.start(who.operator, step("allowed", "mail")))
    client, place = as_(who.operator), reverse("run-separate", args=[old.pk])
    page = text(client, f"{place}?checkpoint=1")
    assert "Did mail" in page or "world.allowed" in page or "Allowed" in page
    assert place in text(client, reverse("run-redrive", args=[old.pk]))
    form = fields(page, form="acknowledged") | {"reason": "For the other house."}
    unread = client.post(place, form)
    assert unread.status_code == 422
    assert "Confirm that you have read the list" in unread.content.decode()
    changed = client.post(place, form | {"read": "on", "acknowledged": "0" * 64})
    assert (changed.status_code, "For the other house." in changed.content.decode()) == (409, True)
    made = client.post(place, form | {"read": "on"})
    new = models.Run.objects.exclude(pk=old.pk).get()
    assert (made.status_code, made["Location"]) == (303, reverse("run", args=[new.pk]))
    assert new.root_id == new.pk
    assert go(new).status == "succeeded"
    assert len(World.effects("mail")) == 2
