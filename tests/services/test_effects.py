"""A stop learns from the database what it has to wait for."""

import datetime
from collections.abc import Callable

import pytest

from ckptsite.services import effects
from runs import models
from tests.engine.conftest import fresh_world, go, operator, person, start, step
from tests.engine.world import World

__all__ = ["fresh_world", "operator", "person", "start"]  # fixtures
pytestmark = pytest.mark.django_db(transaction=True)


def test_an_effect_is_under_way_from_intent_to_receipt(
    start: Callable[..., models.Run], child_environment: dict[str, str]
) -> None:
    url = child_environment["DATABASE_URL"]
    seen: list[effects.Open | None] = []
    World.before = lambda: seen.append(effects.under_way(url))
    run = start(step("allowed", "draft"))
    assert effects.under_way(url) is None
    assert go(run).status == "succeeded"
    assert effects.under_way(url) is None
    [during] = seen
    assert during is not None
    assert during.count == 1
    assert 0 < during.seconds < 10
    assert during.until > datetime.datetime.now(datetime.UTC)


def test_a_server_that_is_gone_holds_nobody_up() -> None:
    assert effects.under_way("postgresql://127.0.0.1:1/none") is None
