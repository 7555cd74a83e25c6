"""Accounts are projections: whatever is changed behind the product's back is found."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pytest

from runs import exact, models
from runs.engine import accounts, verifier
from runs.transitions import steps
from tests.core.tampering import deleted, unhindered
from tests.engine.conftest import go, step
from tests.rules.spending import account, asked, looks, raise_by

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def found() -> str:
    """What the verifier says, or nothing."""
    try:
        verifier.verify()
    except verifier.Broken as error:
        return str(error)
    return ""


def test_8_1_account_is_settled_plus_outstanding_or_it_is_found(start: Start, operator: models.User) -> None:
    """Each column of an account, each advance and each answer in turn; both checks name the row."""
    run = go(start(*looks(3), budget={"steps": 2, "calls": 50}))
    raise_by(run, operator, 40)
    claim = steps.claim(run.pk)
    assert claim is not None
    other = start(step("look", "it"), budget={"steps": 5})
    assert steps.claim(other.pk) is not None
    assert found() == ""
    row, held = account(run, "steps"), account(other, "steps")
    other.refresh_from_db()
    changes: list[tuple[type, int, dict[str, object]]] = [
        (models.Account, row.pk, {"spent": row.spent + 1}),
        (models.Account, row.pk, {"advanced": row.advanced + 1}),
        (models.Account, row.pk, {"limit": row.limit + 1}),
        (models.Account, row.pk, {"measure": "tokens"}),
        (models.Account, row.pk, {"root": None, "day": datetime.date(2026, 1, 1)}),
        (models.Run, other.pk, {"advance": None}),
        (models.Run, other.pk, {"advance": {"steps": {**other.advance["steps"], "amount": 0}}}),
    ]
    for model, number, change in changes:
        with unhindered():
            assert model._base_manager.filter(pk=number).update(**change) == 1  # type: ignore[attr-defined]
            assert found() != "", change
            assert accounts.differences() != [], change
    steps.later(claim, reason="slice")
    with unhindered():
        deleted(models.Account, row)
        assert found() == f"run {run.pk}: its account of steps is gone"
    with unhindered():
        deleted(models.Account, held)
        assert found() == f"account {held.pk}: it is gone, but a run holds something of it"
    with unhindered():
        models.Decision.objects.filter(review__run=run).update(content={"amount": 39})
        assert "the audit chain doesn't know it" in found()
    assert found() == ""


def test_8_1_a_question_about_a_budget_is_what_the_log_says(start: Start) -> None:
    """Limits, what was spent and what was asked are under the question's digest, and the digest is in the log."""
    run = go(start(*looks(3), budget={"steps": 2}))
    review = asked(run)
    for change in ({"content": {**review.content, "asked": 1000}}, {"digest": exact.digest_of("x")}):
        with unhindered():
            models.Review.objects.filter(pk=review.pk).update(**change)
            assert found() == f"review {review.pk}: what it asks about is not what the log says"
    with unhindered():
        deleted(models.Review, review)
        assert found() == f"review {review.pk}: it is gone"
