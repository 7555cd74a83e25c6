"""A question that is open when the policy becomes stricter: its terms tighten at once, and nothing gets looser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from runs import models
from runs.engine import verifier
from runs.transitions import judging, refusals, switches
from runs.transitions.actor import Actor
from tests.core.tampering import unhindered
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]


@pytest.fixture
def policy(person: Person) -> Callable[..., None]:
    """Put one rule for every effect in force."""
    admin = Actor(user=person("ada", "admin"))

    def put(verdict: str = "review", **terms: Any) -> None:
        rule = {"name": f"{verdict} {len(terms)}", "verdict": verdict} | terms
        switches.set_policy({"version": 1, "rules": [rule]}, reason="for the test", by=admin)

    return put


def test_5_stricter_terms_come_into_force_in_place_and_the_old_form_is_refused(
    start: Start, person: Person, policy: Callable[..., None]
) -> None:
    """Whoever answers from the old page gets 409 with all they typed; the page says what is otherwise now."""
    rita, rolf = person("rita", "reviewer"), person("rolf", "reviewer")
    policy()
    run = go(start(step("costly", "fee")))
    review, old = only_review(run), only_review(run)
    client = Client()
    client.force_login(rita)
    page = client.get(reverse("review", args=[review.pk])).content.decode()
    policy(quorum=2, separation=True, reason_required=True, due_seconds=60)
    review.refresh_from_db()
    assert (review.pk, review.quorum, review.separation, review.tightened) == (old.pk, 2, True, 1)
    assert review.reason_required
    assert review.due_at < old.due_at
    assert review.policy_version == models.Installation.objects.get(pk=1).policy_version
    fields = {
        "verdict": "approve",
        "reason": "I looked closely.",
        "retype": review.content["retype"]["value"],
    }
    fields |= {
        name: _hidden(page, name)
        for name in ("revision", "digest", "evidence_number", "rendered_at", "token")
    }
    refused = client.post(
        reverse("review", args=[review.pk]), fields | {"tightened": _hidden(page, "tightened")}
    )
    assert refused.status_code == 409
    assert "I looked closely." in refused.content.decode()
    assert "The policy was changed while this was open: it needs two people" in refused.content.decode()
    live = client.get(
        reverse("review", args=[review.pk]), {"part": "live", "digest": review.digest, "evidence": "0",
        "status": "open", "again": "", "tightened": "0"}, headers={"HX-Request": "true"},
    )  # fmt: skip
    assert "The policy was changed while this was open" in live.content.decode()
    assert World.effects() == []
    policy(quorum=1)  # a laxer one loosens nothing
    review.refresh_from_db()
    assert (review.quorum, review.tightened, review.status) == (2, 1, "open")
    answer(review, rita, "approve")
    policy(quorum=2)  # nothing new for it: the vote that it has counts
    answer(only_review(run), rolf, "approve")
    assert go(run).status == "succeeded"
    verifier.verify()
    for change in ({"tier": 2}, {"separation": False}, {"groups": ["viewer"]}, {"tightened": 0}):
        with unhindered():
            models.Review.objects.filter(pk=review.pk).update(**change)
            with pytest.raises(verifier.Broken, match=f"review {review.pk}"):
                verifier.verify_run(run)


def _hidden(page: str, name: str) -> str:
    return page.partition(f'name="{name}" value="')[2].partition('"')[0]


def test_5_an_approval_that_the_new_terms_do_not_allow_counts_no_more(
    start: Start, person: Person, policy: Callable[..., None]
) -> None:
    """Rita's approval of a question for two stands until only the group finance may decide: then it is asked anew."""
    Group.objects.create(name="finance")
    rita, fred = person("rita", "reviewer"), person("fred", "reviewer", "finance")
    policy(quorum=2)
    run = go(start(step("lookup", "pay")))
    first = only_review(run)
    answer(first, rita, "approve")
    policy(quorum=2, groups=["finance"])
    first.refresh_from_db()
    assert (first.status, first.groups, first.content["judged"]["ends"]) == (
        "superseded",
        ["reviewer"],
        "again",
    )
    go(run)
    second = only_review(run)
    assert (second.groups, second.votes) == (["finance"], 0)
    with pytest.raises(refusals.NotYours):
        answer(second, rita, "approve")
    answer(second, fred, "approve")
    policy(verdict="deny")
    second.refresh_from_db()
    assert second.content["judged"]["ends"] == "denied"
    with pytest.raises(refusals.Stale, match="The policy was changed while this was open"):
        answer(second, fred, "reject")
    assert go(run).status in {"failed", "succeeded"}
    assert World.effects() == []
    assert models.Action.objects.get(run=run).status == "superseded"
    verifier.verify()


def test_5_who_answers_before_the_clock_came_by_answers_on_todays_terms(
    start: Start, person: Person, reviewer: models.User, policy: Callable[..., None]
) -> None:
    """The change of policy reaches some questions later than others: an answer makes its own judged first."""
    policy()
    runs = [go(start(step("lookup", f"pay {number}"))) for number in range(3)]
    with mock.patch.object(judging, "BATCH", 0), mock.patch.object(judging, "sweep", return_value=0):
        policy(quorum=2)
    review = only_review(runs[0])
    assert review.tightened == 0
    answer(review, reviewer, "approve")
    review.refresh_from_db()
    assert (review.status, review.votes, review.quorum, review.tightened) == ("open", 1, 2, 1)
    other = only_review(runs[1])
    with pytest.raises(refusals.Stale, match="policy was changed"):
        answer(other, reviewer, "approve", tightened=0)
    assert not models.Decision.objects.filter(review=other).exists()
    assert judging.sweep(limit=1) == 1
    assert judging.sweep() == 0
    assert only_review(runs[2]).tightened == 1
    verifier.verify()
