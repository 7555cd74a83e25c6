"""The people, agents and world of the engine's tests."""

import pytest

from tests import factories
from tests.engine.conftest import fresh_world, operator, person, reviewer, start

__all__ = ["fresh_world", "operator", "person", "reviewer", "start"]


@pytest.fixture
def who(transactional_db: None) -> factories.People:
    """One person of each role."""
    return factories.people()
