"""Where two decide: the second is blind, one person counts once, and an administrator may break the glass."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings
from django.contrib.auth.models import Group
from django.test import Client
from django.urls import reverse

from runs import models
from runs.engine import verifier
from runs.selectors import deciding, reviews
from runs.transitions import breaking, decisions, switches, team, tokens
from runs.transitions.actor import Actor
from runs.transitions.refusals import NotYours
from tests.core.tampering import unhindered
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
Person = Callable[..., models.User]


@pytest.fixture
def two(start: Start, person: Person) -> tuple[models.Run, models.User]:
    """A run that waits for two people, whatever its rule says of who, and the administrator."""
    ada = person("ada", "admin")
    rule = {"name": "Two", "verdict": "review", "quorum": 2, "separation": False}
    switches.set_policy({"version": 1, "rules": [rule]}, reason="for the test", by=Actor(user=ada))
    return go(start(step("costly", "fee"))), ada


def page(review: models.Review, user: models.User) -> Any:
    return reviews.page(
        review.pk, deciding.Viewer(user=models.User.objects.get(pk=user.pk), roles=user.roles())
    )


def whole(client: Client, place: str) -> str:
    """Return the text of a page, or of a file that is written while it is sent."""
    response = client.get(place)
    assert response.status_code == 200, place
    return response.getvalue().decode()


def test_the_second_reviewer_is_blind_and_one_person_counts_once_on_page_and_by_token(
    two: tuple[models.Run, models.User], reviewer: models.User, operator: models.User, person: Person
) -> None:
    run, ada = two
    review = only_review(run)
    answer(review, reviewer, "approve", reason="Looked at the ledger.")
    client = Client()
    client.force_login(ada)
    shown = client.get(reverse("review", args=[review.pk])).content.decode()
    assert "1 of 2 given" in shown
    assert "<b>rita</b>" not in shown
    assert "Looked at the ledger." not in shown
    assert [vote.by for vote in page(review, reviewer).votes] == ["You"]
    # Nor do trail and dossier say it, on page and in file, to who may still decide; they do to who may not.
    trail, dossier = reverse("audit"), reverse("run-dossier", args=[run.pk])
    places = [f"{place}?{query}" for place in (trail, dossier) for query in ("", "as=jsonl")]
    places += [f"{trail}?as=csv", f"{trail}?act=review.approve", f"{trail}?act=review.approve&who=rita"]
    told = {place: whole(client, place) for place in places}
    assert [place for place, text in told.items() if "Looked at the ledger." in text] == []
    assert all(
        "rita approved" not in text and '"rita","","review.approve"' not in text for text in told.values()
    )
    assert "named once it is decided" in told[f"{trail}?act=review.approve"]
    assert "named once it is decided" not in told[f"{trail}?act=review.approve&who=rita"]
    auditor = Client()
    auditor.force_login(person("aude", "auditor"))
    assert all("Looked at the ledger." in whole(auditor, place) for place in places)
    _, secret = tokens.create(
        name="s", kind="person", acts=["decide"], days=7, form="f", by=Actor(user=reviewer)
    )
    asked = Client().post(
        f"/api/v1/reviews/{review.pk}/decide",
        {"verdict": "reject", "revision": review.revision, "digest": review.digest, "reason": "No."},
        content_type="application/json",
        headers={"Authorization": f"Bearer {secret}", "Idempotency-Key": "k"},
    )
    assert asked.status_code == 403
    operator.groups.add(Group.objects.get(name="reviewer"))
    with pytest.raises(NotYours, match="You started this run"):  # at tier 3 never, whatever the rule says
        answer(only_review(run), operator, "approve")
    answer(only_review(run), ada, "approve")
    assert len(page(review, ada).votes) == 2
    assert "Looked at the ledger." in whole(client, f"{trail}?as=jsonl")
    assert go(run).status == "succeeded"
    verifier.verify()


def test_an_administrator_breaks_the_glass_loudly_and_only_where_it_is_switched_on(
    two: tuple[models.Run, models.User], reviewer: models.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, ada = two
    review = only_review(run)
    place = reverse("review-break-glass", args=[review.pk])
    admin, other = Client(), Client()
    admin.force_login(ada)
    other.force_login(reviewer)
    assert admin.get(place).status_code == 404
    monkeypatch.setitem(settings.CKPTSITE, "BREAK_GLASS", True)
    assert other.get(place).status_code == 403
    form = admin.get(place).content.decode()
    fields: dict[str, str] = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
    given = fields | {
        "reason": "Rita is on a plane, and the fee is due today.",
        "retype": review.content["retype"]["value"],
    }
    for wrong in ({"reason": "Now."}, {"retype": "approve"}):
        again = admin.post(place, given | wrong)
        assert again.status_code == 422
    assert "on a plane" in again.content.decode()
    assert admin.post(place, given).status_code == 303
    assert admin.post(place, given).status_code == 303  # a double click
    for name, number in (("review", review.pk), ("run", run.pk), ("run-dossier", run.pk)):
        assert "break-glass" in admin.get(reverse(name, args=[number])).content.decode(), name
    assert go(run).status == "succeeded"
    assert len(World.effects()) == 1
    assert models.AuditEvent.objects.filter(act="review.broke_glass", actor=ada, run=run).count() == 1
    assert "break-glass" in admin.get(reverse("audit")).content.decode()
    assert "Released alone" in admin.get(reverse("metrics")).content.decode()
    verifier.verify()
    with unhindered():
        models.Review.objects.filter(pk=review.pk).update(alone_by=None)
        with pytest.raises(verifier.Broken, match=f"review {review.pk}"):
            verifier.verify()


def test_a_broken_glass_counts_while_whoever_broke_it_is_an_administrator(
    two: tuple[models.Run, models.User], person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(settings.CKPTSITE, "BREAK_GLASS", True)
    run, ada = two
    review = only_review(run)
    said = decisions.Answer(
        verdict="approve",
        revision=1,
        digest=review.digest,
        token="t",
        retype=breaking.retyped(review),
        reason="Nobody else is here today.",
    )
    breaking.release(review.pk, said, by=Actor(user=ada))
    team.set_groups(ada.pk, ["viewer"], seen=["admin"], by=Actor(user=person("eve", "admin")))
    go(run)
    assert World.effects() == []
    assert only_review(run).quorum == 2
