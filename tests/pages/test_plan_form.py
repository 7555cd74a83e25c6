"""Changing a plan on its page, and approving one: nothing typed is lost, one sentence says what is wrong."""

from __future__ import annotations

import html
import json
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from runs import models
from runs.transitions import holds
from runs.transitions.actor import Actor
from tests import factories
from tests.engine.conftest import go, only_review, step
from tests.pages.conftest import As
from tests.pages.test_decisions import fields
from tests.pages.test_pages import text

pytestmark = pytest.mark.django_db(transaction=True)


def shown(page: str) -> list[dict[str, Any]]:
    """Return the steps that stand in the form."""
    found = re.search(r'<textarea[^>]*name="steps"[^>]*>(.*?)</textarea>', page, re.DOTALL)
    assert found is not None
    steps: list[dict[str, Any]] = json.loads(html.unescape(found[1]))
    return steps


def token_of(page: str) -> dict[str, str]:
    """Return the form token that any form of this person's pages carries."""
    return {"csrfmiddlewaretoken": fields(page, form=reverse("logout"))["csrfmiddlewaretoken"]}


def post(client: Client, run: models.Run, steps: object, **more: str) -> Any:
    page = text(client, reverse("run-plan", args=[run.pk]))
    given = {"base": "1", "reason": "Wrong customer.", **token_of(page)}
    sent = steps if isinstance(steps, str) else json.dumps(steps)
    return client.post(reverse("run-plan-edit", args=[run.pk]), {**given, "steps": sent, **more})


def test_an_operator_changes_the_plan_of_a_waiting_run(who: factories.People, as_: As) -> None:
    run = go(factories.start(who.operator, step("lookup", "mäil\u202e"), step("allowed", "next")))
    client = as_(who.operator)
    page = text(client, reverse("run-plan", args=[run.pk]))
    assert "mäil\\u202e" in page  # what can't be seen stands as its code
    steps = shown(page)
    steps[1]["body"]["gate"] = True
    response = post(client, run, steps)
    assert (response.status_code, response.headers["Location"]) == (303, reverse("run-plan", args=[run.pk]))
    go(run)
    page = text(client, reverse("run-plan", args=[run.pk]))
    assert "Version 2 by operator-1" in page
    assert "operator-1 wants to be asked first" in page
    timeline = text(client, reverse("run", args=[run.pk]))
    assert "Changed the plan" in timeline
    assert "Wrong customer." in timeline


@pytest.mark.parametrize(
    ("steps", "more", "status", "sentence"),
    [
        ("[{", {}, 422, "This is not JSON"),
        ("{}", {}, 422, "A plan is a list of steps."),
        ("[]", {"reason": " "}, 422, "Say why the plan changes"),
        ("[]", {"base": "7"}, 409, "you changed version 7"),
        ("[]", {"base": "x"}, 409, "The plan has version 1 by now"),
    ],
)
def test_what_is_wrong_is_said_and_what_was_typed_is_kept(
    who: factories.People, as_: As, steps: str, more: dict[str, str], status: int, sentence: str
) -> None:
    run = go(factories.start(who.operator, step("lookup", "mail")))
    response = post(as_(who.operator), run, steps, **more)
    page = response.content.decode()
    assert response.status_code == status
    assert sentence in page
    assert f">{html.escape(steps)}</textarea>" in page
    assert models.Plan.objects.filter(run=run).count() == 1


def test_a_run_that_goes_on_again_keeps_the_draft(who: factories.People, as_: As) -> None:
    run = go(factories.start(who.operator, step("lookup", "mail")))
    client = as_(who.operator)
    models.Run.objects.filter(pk=run.pk).update(status="queued", wake_at=run.created_at, reason="decision")
    assert "Pause the run to change its plan." in text(client, reverse("run-plan", args=[run.pk]))
    response = post(client, run, "[1]")
    assert (response.status_code, "pause it, then save the plan" in response.content.decode()) == (422, False)
    response = post(client, run, [])
    page = response.content.decode()
    assert response.status_code == 409
    assert "pause it, then save the plan" in page
    assert "What you typed is kept below" in page


def test_only_who_may_change_plans_gets_the_form(who: factories.People, as_: As) -> None:
    run = go(factories.start(who.operator, step("lookup", "mail")))
    address = reverse("run-plan", args=[run.pk])
    for person in (who.viewer, who.reviewer, who.auditor):
        assert 'name="steps"' not in text(as_(person), address)
    assert post(as_(who.reviewer), run, []).status_code == 403
    assert 'name="steps"' not in as_(who.operator).get(f"{address}?part=live").content.decode()
    holds.stop(run.pk, reason="x", by=Actor(user=who.operator))
    assert 'name="steps"' not in text(as_(who.operator), address)


def test_a_plan_is_read_and_approved_on_its_page(who: factories.People, as_: As) -> None:
    run = go(
        factories.start(who.operator, step("lookup", "mail"), step("allowed", "next"), approve_plan=True)
    )
    review = only_review(run)
    client = as_(who.reviewer)
    address = reverse("review", args=[review.pk])
    page = text(client, address)
    assert "Approve the plan: 3 steps" in page
    assert "Do mail" in page
    assert "Do next" in page
    assert "This approves no single action" in page
    sent = fields(page, form='value="approve"') | {"verdict": "approve"}
    assert client.post(address, sent).status_code == 303
    run = go(run)
    assert run.approved_plan == 1
    assert "Approved the plan, version 1" in text(client, reverse("run", args=[run.pk]))
    assert "approved this" in text(client, address)


def test_a_change_of_what_a_run_uses_is_said_and_answered_on_its_page(who: factories.People, as_: As) -> None:
    from unittest import mock

    from tests.engine.conftest import answer
    from tests.engine.world import Lookup, World

    run = go(factories.start(who.operator, step("lookup", "mail")))
    answer(only_review(run), who.reviewer, "approve")
    with mock.patch.object(Lookup, "version", 2):
        run = go(run)
        review = only_review(run)
        client = as_(who.operator)
        assert "What it started with has changed" in text(client, reverse("run", args=[run.pk]))
        address = reverse("review", args=[review.pk])
        page = text(client, address)
        assert "world.lookup: its version was 1 and is 2 now." in page
        assert 'value="retry"' not in page
        sent = fields(page, form='value="go_on"') | {"verdict": "go_on"}
        response = client.post(address, sent)
        assert (response.status_code, "Give a reason" in response.content.decode()) == (422, True)
        assert client.post(address, {**sent, "reason": "Reviewed the release."}).status_code == 303
        run = go(run)
        assert (only_review(run).kind, World.effects()) == ("action", [])
        assert "Let it go on with what is installed now" in text(client, reverse("run", args=[run.pk]))
