"""People, runs in every state and a signed-in client."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.core.cache import cache
from django.test import Client

from runs import models
from tests import factories
from tests.engine.conftest import fresh_world

__all__ = ["fresh_world"]

As = Callable[[models.User], Client]


@pytest.fixture(autouse=True)
def empty_cache() -> None:
    """Wrong tries of one test don't count in the next."""
    cache.clear()


@pytest.fixture
def who(transactional_db: None) -> factories.People:
    """One person of each role."""
    return factories.people()


@pytest.fixture
def house(who: factories.People) -> factories.House:
    """A run in each state."""
    return factories.house(who)


@pytest.fixture
def as_() -> As:
    """Make a client that is signed in as somebody and checks CSRF as a browser would."""

    def make(user: models.User) -> Client:
        client = Client(enforce_csrf_checks=True)
        client.force_login(user)
        return client

    return make
