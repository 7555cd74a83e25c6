"""Where two people have to agree, one of them doesn't count twice."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.transitions import refusals
from tests.engine.conftest import answer, go, only_review, step

pytestmark = pytest.mark.django_db(transaction=True)


def test_one_person_has_one_vote(start: Callable[..., models.Run], reviewer: models.User) -> None:
    review = only_review(go(start(step("lookup", "mail"))))
    models.Review.objects.filter(pk=review.pk).update(quorum=2)
    answer(review, reviewer, "approve")
    with pytest.raises(refusals.NotYours, match="somebody else's decision"):
        answer(review, reviewer, "approve")
    review.refresh_from_db()
    assert (review.status, review.votes) == ("open", 1)
