"""What nobody answered is nobody's refusal, wherever it is shown; and whoever has taken it up stops no clock."""

from __future__ import annotations

import csv
import datetime
import io

import pytest
from django.urls import reverse
from django.utils import timezone

from runs import models
from runs.transitions import clocks, desk
from runs.transitions.actor import Actor
from tests import factories
from tests.api.conftest import Give, give
from tests.engine.conftest import go
from tests.pages.conftest import As

__all__ = ["give"]
pytestmark = pytest.mark.django_db(transaction=True)


def test_taken_up_and_not_decided_it_is_everybodys_again_and_ends_as_unanswered(
    who: factories.People, as_: As, give: Give
) -> None:
    """On its page, in the plan, the audit trail, the API and the metrics."""
    review = factories.held(who.operator)
    by, place = Actor(user=who.reviewer), reverse("review", args=[review.pk])
    desk.snooze(review.pk, "1h", by=by)
    desk.hand_over(review.pk, who.admin.pk, note="Yours.", by=by)
    reader = as_(who.reviewer)
    assert f'href="{place}' not in reader.get(reverse("inbox")).content.decode()
    past = timezone.now() - datetime.timedelta(minutes=1)
    models.Snooze.objects.update(until=past)
    models.Review.objects.filter(pk=review.pk).update(due_at=past)
    assert f'href="{place}' in reader.get(reverse("inbox")).content.decode()
    models.Review.objects.filter(pk=review.pk).update(expires_at=timezone.now())
    assert clocks.expire_reviews() == 1
    run = go(review.run)
    client = as_(who.auditor)
    for address in (place, reverse("run-plan", args=[run.pk]), reverse("audit")):
        assert "Nobody answered in time" in client.get(address).content.decode(), address
    told = give(who.operator, "view").get(f"reviews/{review.pk}").json()
    assert (told["status"], told["decisions"]) == ("expired", [])
    sheet = client.get(reverse("metrics"), {"figure": "ends"}).content.decode("utf-8-sig")
    (row, *_) = csv.DictReader(io.StringIO(sheet))
    counted = {name: value for name, value in row.items() if name in {"Nobody answered", "Rejected"}}
    assert counted == {"Nobody answered": "100 %", "Rejected": "0 %"}
    assert not models.Decision.objects.exists()
