"""A rejection that ends the run too."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models, rights
from runs.transitions import holds, refusals
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_a_rejection_that_stops_the_run_is_one_commit(
    start: Start, reviewer: models.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Either both are written or none: a run never goes on past a rejection that was to stop it."""
    run = go(start(step("lookup", "mail"), step("unprotected", "next")))
    review = only_review(run)

    def dies(*_: object, **__: object) -> None:
        raise RuntimeError("cut off")

    with monkeypatch.context() as patched:
        patched.setattr(holds, "ask_stop", dies)
        with pytest.raises(RuntimeError):
            answer(review, reviewer, "reject", stop=True)
    review.refresh_from_db()
    assert (review.status, models.Decision.objects.count()) == ("open", 0)
    with pytest.raises(refusals.Invalid):
        answer(review, reviewer, "approve", stop=True)
    answer(review, reviewer, "reject", reason="All of it is wrong.", stop=True)
    run.refresh_from_db()
    assert (run.stop_by, run.stop_reason) == (reviewer, "All of it is wrong.")
    acts = list(models.AuditEvent.objects.order_by("-seq").values_list("act", flat=True)[:2])
    assert acts == ["run.stop_asked", "review.reject"]
    assert go(run).status == "cancelled"
    assert World.effects() == []


def test_who_may_not_stop_runs_decides_nothing_by_a_rejection_that_would(
    start: Start, reviewer: models.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = only_review(go(start(step("lookup", "mail"))))
    monkeypatch.setitem(rights._TABLE, rights.Act.STOP, frozenset({rights.ADMIN}))
    with pytest.raises(refusals.NotYours):
        answer(review, reviewer, "reject", stop=True)
    assert not models.Decision.objects.exists()
