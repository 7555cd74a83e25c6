"""A question of an agent on its page: the form is made from the schema, buttons decide nothing, the value goes back."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from runs import models
from tests import factories
from tests.engine.conftest import go, only_review
from tests.forms.browser import sent
from tests.pages.conftest import As
from tests.pages.test_pages import HIDDEN, text

pytestmark = pytest.mark.django_db(transaction=True)

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["way", "days"],
    "properties": {
        "way": {"enum": ["remind", "wait"], "title": "What to do"},
        "days": {"type": "integer", "minimum": 1, "title": "Days"},
        "people": {"type": "array", "items": {"type": "string", "minLength": 1}, "title": "Whom to tell"},
    },
}
STEP = {
    "id": "ask",
    "title": "Ask",
    "ask": {"question": "Nordwind doesn't answer.\nWhat now?", "schema": SCHEMA},
}


def asked(who: factories.People) -> models.Review:
    """A question that waits for an answer."""
    return only_review(go(factories.start(who.operator, STEP, title="Reminders")))


def test_from_the_question_to_the_value(who: factories.People, as_: As) -> None:
    review = asked(who)
    client, place = as_(who.reviewer), reverse("review", args=[review.pk])
    there = reverse("review-answer", args=[review.pk])
    assert "Nordwind" in text(client, f"{reverse('inbox')}?q=nordwi")  # found by what it asks
    page = text(client, place)
    assert "its own words, not checked" in page
    assert "What now?" in page
    form = sent(page, form="answer")
    refused = client.post(there, form | {"act": "answer"})
    said = refused.content.decode()
    assert refused.status_code == 422
    assert "What to do: Choose one." in said
    assert "Days: This is empty." in said
    row = client.post(there, form | {"act": "add:a-1", "a-0": "0", "reason": "They asked."})
    form = sent(row.content.decode(), form="answer")
    assert (row.status_code, form["a-0"], form["a-1:rows"], form["reason"]) == (
        200,
        ["0"],
        ["", "n1"],
        ["They asked."],
    )
    form |= {"a-2": ["1"], "a-1-n1": ["Ada"], "act": ["answer"]}
    assert "At least 1." in client.post(there, form).content.decode()
    assert not models.Decision.objects.exists()
    done = client.post(there, form | {"a-0": ["14"]})
    assert done.status_code == 303
    assert client.post(there, form | {"a-0": ["14"]}).status_code == 303  # the same form again
    value = {"way": "wait", "days": 14, "people": ["Ada"]}
    assert models.Decision.objects.get().content == {"value": value}
    run = go(review.run)
    assert run.status == "succeeded"
    page = text(client, place)
    assert "You answered this." in page
    assert "They asked." in page
    assert "14" in page
    for tab in ("run", "run-transcript"):
        assert "What now?" in text(client, reverse(tab, args=[run.pk]))


def test_who_cannot_answer_says_why_and_who_may_not_is_told(who: factories.People, as_: As) -> None:
    review = asked(who)
    client, there = as_(who.reviewer), reverse("review-answer", args=[review.pk])
    form = sent(text(client, reverse("review", args=[review.pk])), form="answer") | {"act": "cannot"}
    refused = client.post(there, form, headers={"HX-Request": "true"})
    assert refused.status_code == 422
    assert "Say why you can&#x27;t answer" in refused.content.decode()
    assert as_(who.viewer).post(there, form).status_code == 403
    assert "You may read this" in text(as_(who.viewer), reverse("review", args=[review.pk]))
    assert client.post(there, form | {"reason": "Only sales knows."}).status_code == 303
    late = client.post(there, form | {"token": "another", "act": "answer", "a-2": "0", "a-0": "3"})
    page = late.content.decode()
    assert late.status_code == 409
    assert "You answered this first" in page or "answered this first" in page
    assert "What you had typed" in page
    assert go(review.run).status == "succeeded"


def test_a_question_can_hide_nothing_in_its_form(who: factories.People, as_: As) -> None:
    way = {"oneOf": [{"type": "string", "title": HIDDEN}, {"type": "array"}]}
    code = {"type": "string", "pattern": "\u202e\ud800"}
    schema = {
        "type": "object",
        "title": HIDDEN,
        "properties": {
            "way": way,
            "code": code,
            HIDDEN: {"enum": [HIDDEN, 1], "title": HIDDEN, "description": HIDDEN},
        },
        "required": ["way", "code", HIDDEN],
    }
    ask = {"id": "ask", "title": HIDDEN, "ask": {"question": HIDDEN, "schema": schema}}
    review = only_review(go(factories.start(who.operator, ask)))
    client = as_(who.reviewer)
    page = text(client, reverse("review", args=[review.pk]))
    form = sent(page, form="answer") | {"act": "answer", "a-0": "x", "a-1": "0", "a-2": "x"}
    refused = client.post(reverse("review-answer", args=[review.pk]), form)
    assert refused.status_code == 422
    assert "the form that is asked for" in refused.content.decode()
    put_off = form | {"for": "1h"}
    told = client.post(reverse("review-snooze", args=[review.pk]), put_off, follow=True).content.decode()
    assert "Put off until" in told
    for shown in (page, refused.content.decode(), told):
        for raw in ("\u202e", "\u200b", "\x07", "<script>alert"):
            assert raw not in shown
