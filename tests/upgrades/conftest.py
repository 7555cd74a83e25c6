"""The people, agents and world of the engine's tests."""

from tests.engine.conftest import fresh_world, operator, person, reviewer, start

__all__ = ["fresh_world", "operator", "person", "reviewer", "start"]
