"""A limit that is reached, on the pages: asked in words, answered by who may, with one sentence for bad input."""

from __future__ import annotations

import pytest
from django.urls import reverse

from runs import models
from tests import factories
from tests.engine.conftest import go
from tests.pages.conftest import As
from tests.pages.test_decisions import opened, send
from tests.pages.test_pages import text
from tests.rules.spending import account, asked, looks

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def short(who: factories.People) -> models.Run:
    """A run that has used up its turns."""
    return go(factories.start(who.operator, *looks(3), budget={"steps": 2, "calls": 100}))


def test_the_question_says_what_is_used_up_and_a_raise_goes_on(
    who: factories.People, as_: As, short: models.Run
) -> None:
    review, client = asked(short), as_(who.operator)
    page = text(client, reverse("review", args=[review.pk]))
    for words in (
        "The limit of 2 turns of this run is reached.",
        "Needed to go on",
        "1 turn",
        "of 100 tool calls",
    ):
        assert words in page
    assert "The limit of 2 turns of this run is reached." in text(client, reverse("inbox"))
    form = opened(client, review, verdict="raise") | {"amount": "50", "reason": "It is worth it."}
    response = send(client, review, form)
    assert response.status_code == 303
    assert "Raised; the run goes on" in text(client, response["Location"])
    short = go(short)
    assert short.status == "succeeded", short.error
    timeline = text(client, reverse("run", args=[short.pk]))
    assert "Asked for a higher limit" in timeline
    assert "Raised the limit" in timeline
    assert "It is worth it." in timeline


@pytest.mark.parametrize("amount", ["", "0", "-3", "2.5", "1,000", "many", "9" * 30, "²"])
def test_a_bad_amount_is_refused_in_one_sentence_and_kept(
    who: factories.People, as_: As, short: models.Run, amount: str
) -> None:
    review, client = asked(short), as_(who.operator)
    form = opened(client, review, verdict="raise") | {"amount": amount, "reason": "It is worth it."}
    response = send(client, review, form)
    assert response.status_code == 422
    page = response.content.decode()
    assert "Say by how much the limit is raised: a whole number of 1 or more, without commas." in page
    assert "It is worth it." in page
    assert f'value="{amount[:40]}"' in page
    assert account(short, "steps").limit == 2


def test_stop_ends_the_run_by_the_usual_stop(who: factories.People, as_: As, short: models.Run) -> None:
    review, client = asked(short), as_(who.operator)
    response = send(client, review, opened(client, review, verdict="stop") | {"reason": "Enough."})
    assert response.status_code == 303
    short = go(short)
    assert (short.status, short.stop_reason) == ("cancelled", "Enough.")
    assert "Stop asked" in text(client, reverse("run", args=[short.pk]))


def test_who_lacks_the_right_reads_and_does_not_answer(
    who: factories.People, as_: As, short: models.Run
) -> None:
    review = asked(short)
    form = opened(as_(who.operator), review, verdict="raise") | {"amount": "5"}
    for user in (who.reviewer, who.viewer, who.auditor):
        client = as_(user)
        page = text(client, reverse("review", args=[review.pk]))
        assert "Answering this needs the group “operator”" in page
        assert send(client, review, form).status_code == 403
    assert account(short, "steps").limit == 2


def test_the_usage_page_warns_from_80_percent_on(who: factories.People, as_: As, short: models.Run) -> None:
    client = as_(who.viewer)
    page = text(client, reverse("run-usage", args=[short.pk]))
    assert "Used up: This run has used 2 turns of 2 turns (100 %); 0 turns left." in page
    assert "This run has used 1 tool call of 100 tool calls (1 %); 99 tool calls left." in page
    models.Account.objects.filter(root=short, measure="steps").update(limit=5, spent=4)
    page = text(client, reverse("run-usage", args=[short.pk]))
    assert "Nearly used up: This run has used 4 turns of 5 turns (80 %); 1 turn left." in page
