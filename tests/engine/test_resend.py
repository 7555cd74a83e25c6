"""An effect that provably did not happen is sent again only while its release still holds."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runs import models
from runs.engine import verifier
from tests.engine import clockwork
from tests.engine.conftest import answer, go, only_review, step
from tests.engine.world import Costly, World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]


def test_a_world_that_changed_before_the_second_send_is_asked_about(
    start: Start, reviewer: models.User
) -> None:
    run = go(start(step("costly", "fee")))
    first = only_review(run)
    answer(first, reviewer, "approve")
    World.absent = "again later: connection refused"
    run = go(run)
    assert (run.status, World.effects()) == ("queued", [])
    World.absent, Costly.balance = "", 5
    with clockwork.ahead(hours=1):
        run = go(run)
    assert (run.status, run.reason, run.error) == ("waiting", "review", "")
    again = only_review(run)
    assert again.pk != first.pk
    assert "the world changed" in again.content["why"]
    answer(again, reviewer, "approve")
    assert go(run).status == "succeeded"
    assert len(World.effects("fee")) == 1
    verifier.verify()
