"""An agent that asks without end has so many questions open, and no more; nothing of the rest is lost."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.conf import settings
from django.test import Client

from runs import models
from runs.engine import verifier
from tests.engine.conftest import answer, go
from tests.engine.world import World
from tests.rules.test_4_order import rows

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def opened(run: models.Run) -> list[models.Review]:
    return list(models.Review.objects.filter(run=run, status="open").order_by("pk"))


def test_5_a_run_asks_for_as_much_as_may_be_open_and_goes_on_as_that_is_answered(
    start: Start, reviewer: models.User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It rests in sight with a reason, and each call is asked about and done once."""
    monkeypatch.setitem(settings.CKPTSITE, "PENDING_RUN", 2)
    run = go(start(rows("lookup", "a", "b", "c", "d", "e")))
    assert len(opened(run)) == 2
    client = Client()
    client.force_login(reviewer)
    assert (run.status, run.reason) == ("queued", "crowded")
    assert "more to ask than may be open" in client.get(f"/runs/{run.pk}/").content.decode()
    other = go(start(rows("lookup", "x")))  # the limit is of one run and of one agent
    assert len(opened(other)) == 1
    asked = 0
    while found := opened(run):
        assert len(found) <= 2
        answer(found[0], reviewer, "approve")
        asked += 1
        run = go(run)
    assert (asked, run.status) == (5, "succeeded")
    assert [line["name"] for line in World.effects()] == list("abcde")
    verifier.verify()
