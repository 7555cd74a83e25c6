"""Answering: once, bound to what was seen, with everything that was typed kept when it isn't taken."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from html import unescape
from typing import TYPE_CHECKING

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from runs import models
from tests import factories
from tests.engine.conftest import answer, go, only_review
from tests.engine.world import World
from tests.pages.conftest import As

if TYPE_CHECKING:
    from django.test.client import _MonkeyPatchedWSGIResponse as Answer

pytestmark = pytest.mark.django_db(transaction=True)

HTMX = {"HX-Request": "true"}


def fields(page: str, *, form: str) -> dict[str, str]:
    """Return the hidden fields of the form that holds `form`, as a browser would send them."""
    parts = [part for part in re.findall(r"<form.*?</form>", page, re.DOTALL) if form in part]
    assert parts, f"no form with {form!r}"
    return {
        name: unescape(value)
        for name, value in re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)"', parts[0])
    }


def opened(client: Client, review: models.Review, *, verdict: str = "approve") -> dict[str, str]:
    """Return the form of a verdict as the page draws it now, with a reason typed in."""
    page = client.get(reverse("review", args=[review.pk])).content.decode()
    return fields(page, form=f'value="{verdict}"') | {"verdict": verdict, "reason": "Looked at it."}


def send(client: Client, review: models.Review, form: Mapping[str, object], *, htmx: bool = False) -> Answer:
    """Send the form."""
    return client.post(reverse("review", args=[review.pk]), form, headers=HTMX if htmx else {})


def test_approve_without_javascript_leads_on_with_a_sentence(who: factories.People, as_: As) -> None:
    first, second = factories.held(who.operator, name="one"), factories.held(who.operator, name="two")
    client = as_(who.reviewer)
    response = send(client, first, opened(client, first) | {"reason": "Looked at it."})
    assert response.status_code == 303
    assert response["Location"] == f"{reverse('review', args=[second.pk])}?done={first.pk}"
    assert "Approved: Will do one." in client.get(response["Location"]).content.decode()
    response = send(client, second, opened(client, second, verdict="reject") | {"reason": "No."})
    assert response["Location"] == f"{reverse('inbox')}?done={second.pk}"
    page = client.get(response["Location"]).content.decode()
    assert "Rejected, it is not done: Will do two." in page
    assert "Nothing waits for you" in page
    came = f"{reverse('review', args=[first.pk])}?part=came"
    waits = client.get(came).content.decode()
    assert ("It starts in a moment." in waits, 'hx-trigger="every 3s"' in waits) == (True, True)
    assert (
        waits.strip() in client.get(reverse("review", args=[first.pk])).content.decode()
    )  # there it says it too
    models.Installation.objects.update(switches={"all": {"by": "ada", "at": "2026-01-01T00:00:00+00:00"}})
    assert "It starts when the pause is lifted" in client.get(came).content.decode()
    models.Installation.objects.update(switches={})
    assert go(first.run).status == "succeeded"
    done = client.get(came).content.decode()
    assert ("Done: Did one." in done, "hx-trigger" in done) == (True, False)
    assert reverse("run-effects", args=[first.run_id]) in done
    assert go(second.run).status == "succeeded"
    assert [line["name"] for line in World.effects()] == ["one"]


def test_htmx_is_never_redirected(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    client = as_(who.reviewer)
    response = send(client, review, opened(client, review), htmx=True)
    assert response.status_code == 200
    assert "Location" not in response
    assert reverse("inbox") in response["HX-Location"]


def test_the_same_form_twice_decides_once(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    client = as_(who.reviewer)
    form = opened(client, review)
    assert send(client, review, form).status_code == 303
    assert send(client, review, form).status_code == 303
    assert models.Decision.objects.filter(review=review).count() == 1


def test_another_verdict_after_a_decision_is_a_conflict_that_keeps_what_was_typed(
    who: factories.People, as_: As
) -> None:
    review = factories.held(who.operator)
    second = factories.person("second", "reviewer")
    client, other = as_(who.reviewer), as_(second)
    form = opened(other, review, verdict="reject") | {"reason": "I typed this for an hour."}
    assert send(client, review, opened(client, review)).status_code == 303
    for htmx in (False, True):
        response = send(other, review, form, htmx=htmx)
        page = response.content.decode()
        assert response.status_code == 409
        assert "approved this first; nothing you typed was used." in page
        assert "I typed this for an hour." in page
        assert response.get("HX-Retarget") == ("#main" if htmx else None)
    assert models.Decision.objects.filter(review=review).count() == 1


def test_an_old_revision_is_a_conflict(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    client = as_(who.reviewer)
    form = opened(client, review) | {"reason": "I read the old one."}
    models.Review.objects.filter(pk=review.pk).update(revision=2, digest="e" * 64)
    response = send(client, review, form)
    assert response.status_code == 409
    page = response.content.decode()
    assert "This has changed since you opened it" in page
    assert "I read the old one." in page
    assert "e" * 64 in page  # the form that came back is about what the page shows now
    assert not models.Decision.objects.exists()


def test_who_may_not_decide_gets_403_and_one_sentence(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    form = opened(as_(who.reviewer), review)
    for user in (who.viewer, who.operator, who.auditor):
        client = as_(user)
        page = client.get(reverse("review", args=[review.pk])).content.decode()
        assert "needs the group “reviewer”" in page
        token = {"csrfmiddlewaretoken": fields(page, form=reverse("logout"))["csrfmiddlewaretoken"]}
        response = send(client, review, form | token)
        assert response.status_code == 403
        assert "needs the group “reviewer”" in response.content.decode()
    assert not models.Decision.objects.exists()


def test_a_rejection_needs_a_reason_next_to_the_field(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    client = as_(who.reviewer)
    for htmx in (False, True):
        form = opened(client, review, verdict="reject") | {"reason": " ", "then": "stop"}
        response = send(client, review, form, htmx=htmx)
        page = response.content.decode()
        assert response.status_code == 422
        assert 'id="f-reason-error"' in page
        assert 'value="stop" checked' in page
        assert ("<html" in page) is not htmx


def test_an_approval_of_what_goes_out_needs_a_reason_too(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    client = as_(who.reviewer)
    response = send(client, review, opened(client, review) | {"reason": ""})
    assert response.status_code == 422
    assert 'id="f-approve-reason-error"' in response.content.decode()


def test_reject_and_stop_ends_the_run(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    client = as_(who.reviewer)
    form = opened(client, review, verdict="reject") | {"reason": "All of it is wrong.", "then": "stop"}
    assert send(client, review, form).status_code == 303
    run = go(review.run)
    assert (run.status, run.stop_reason) == ("cancelled", "All of it is wrong.")
    assert World.effects() == []


def test_the_final_tier_wants_the_value_typed_again(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator, tool="costly", name="fee")
    client = as_(who.reviewer)
    form = opened(client, review) | {"reason": "Checked the contract."}
    for typed in ("", "1.01"):
        response = send(client, review, form | {"retype": typed})
        page = response.content.decode()
        assert response.status_code == 422
        assert 'id="retype-error"' in page
        assert "Checked the contract." in page
    assert send(client, review, form | {"retype": "1.00"}).status_code == 303


def test_the_starter_may_not_release_the_final_tier_but_reject_it(who: factories.People, as_: As) -> None:
    both = factories.person("both", "operator", "reviewer")
    review = factories.held(both, tool="costly", name="fee")
    client = as_(both)
    page = client.get(reverse("review", args=[review.pk])).content.decode()
    assert "You started this run" in page
    assert 'value="approve"' not in page
    form = opened(client, review, verdict="reject")
    assert send(client, review, form | {"verdict": "approve", "reason": "x"}).status_code == 403
    assert send(client, review, form | {"reason": "On second thoughts."}).status_code == 303


def test_an_expired_question_is_a_conflict(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    client = as_(who.reviewer)
    form = opened(client, review)
    models.Review.objects.filter(pk=review.pk).update(
        expires_at=timezone.now() - datetime.timedelta(seconds=1)
    )
    response = send(client, review, form)
    assert response.status_code == 409
    assert "expired" in response.content.decode()


class TestDoubt:
    """Did it happen?"""

    def test_absence_counts_only_after_the_horizon(self, who: factories.People, as_: As) -> None:
        run = factories.in_doubt(who.operator, who.reviewer)
        review = only_review(run)
        client = as_(who.reviewer)
        models.Occurrence.objects.update(horizon=timezone.now() + datetime.timedelta(hours=1))
        early = opened(client, review, verdict="absent_leave")
        page = client.get(reverse("review", args=[review.pk])).content.decode()
        assert "The request may still arrive" in page
        response = send(client, review, early | {"reason": "Looked."})
        assert response.status_code == 422
        models.Occurrence.objects.update(horizon=timezone.now())
        response = send(client, review, early | {"reason": "Looked."})
        assert response.status_code == 422  # the page was drawn before the horizon
        forged = early["rendered_at"].replace("2026", "2999")
        assert send(client, review, early | {"reason": "x", "rendered_at": forged}).status_code == 422
        late = opened(client, review, verdict="absent_leave")
        assert send(client, review, late | {"reason": "Looked."}).status_code == 303
        assert go(run).status == "failed"
        assert not models.Occurrence.objects.exclude(state="void").exists()

    def test_what_was_learnt_meanwhile_has_to_be_looked_at(self, who: factories.People, as_: As) -> None:
        review = only_review(factories.in_doubt(who.operator, who.reviewer))
        client = as_(who.reviewer)
        form = opened(client, review, verdict="unknown") | {"reason": "Asked them."}
        models.Action.objects.filter(reviews=review).update(evidence_number=1)
        response = send(client, review, form)
        assert response.status_code == 409
        assert "New evidence has arrived" in response.content.decode()
        form = opened(client, review, verdict="unknown") | {"reason": "Asked them."}
        assert send(client, review, form).status_code == 303

    def test_it_happened_needs_a_proof(self, who: factories.People, as_: As) -> None:
        review = only_review(factories.in_doubt(who.operator, who.reviewer))
        client = as_(who.reviewer)
        form = opened(client, review, verdict="happened") | {"reason": "Called them."}
        response = send(client, review, form)
        assert response.status_code == 422
        assert 'id="f-receipt-error"' in response.content.decode()
        assert send(client, review, form | {"receipt": "Parcel 17"}).status_code == 303
        assert go(review.run).status == "succeeded"


def test_a_failed_run_is_tried_again_by_an_operator_only(who: factories.People, as_: As) -> None:
    run = factories.failed(who.operator)
    review = only_review(run)
    assert (
        "needs the group “operator”"
        in as_(who.reviewer).get(reverse("review", args=[review.pk])).content.decode()
    )
    client = as_(who.operator)
    form = opened(client, review, verdict="retry")
    assert send(client, review, form | {"reason": ""}).status_code == 422
    assert send(client, review, form | {"reason": "The file is there now."}).status_code == 303
    assert go(run).status == "succeeded"


def test_a_failed_run_leaves_the_choice_open(who: factories.People, as_: As) -> None:
    review = only_review(factories.failed(who.operator))
    client = as_(who.operator)
    page = client.get(reverse("review", args=[review.pk])).content.decode()
    assert " checked" not in page.split('id="f-verdict"')[1].split("</fieldset>")[0]
    form = fields(page, form='value="retry"') | {"reason": "The file is there now."}
    response = send(client, review, form)
    assert response.status_code == 422
    assert "Choose what next." in response.content.decode()


def test_the_page_says_who_started_the_run_and_spells_the_identity_as_given(
    who: factories.People, as_: As
) -> None:
    review = factories.held(who.operator, tool="costly", name="Fee 3")
    page = as_(who.reviewer).get(reverse("review", args=[review.pk])).content.decode()
    assert f"<dt>Started by</dt><dd>{who.operator.display()}</dd>" in page
    assert "name “Fee 3”" in page


def test_a_get_never_decides(who: factories.People, as_: As) -> None:
    review = factories.held(who.operator)
    client = as_(who.reviewer)
    form = opened(client, review)
    assert client.get(reverse("review", args=[review.pk]), form).status_code == 200
    review.refresh_from_db()
    assert review.status == "open"
    assert answer(review, who.reviewer, "approve").verdict == "approve"
