"""Fixtures for the authors of tools: `pytest_plugins = ["runs.testing.plugin"]` in the top `conftest.py`.

`protection_proof` is `runs.testing.prove`; `outside_world` gives a world to point an HTTP tool at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from runs import testing
from runs.testing.world import OutsideWorld


@pytest.fixture
def protection_proof() -> Callable[..., testing.Proof]:
    """Prove a tool's declared protection: `protection_proof(tool, arguments, world=...)`; fails with what is untrue."""
    return testing.prove


@pytest.fixture
def outside_world(tmp_path: Path) -> Iterator[Callable[..., OutsideWorld]]:
    """Make worlds, `outside_world(remembers=True)` for one that knows a key again; each ends with the test."""
    made: list[OutsideWorld] = []

    def make(*, remembers: bool = False) -> OutsideWorld:
        folder = tmp_path / f"world-{len(made)}"
        folder.mkdir()
        world = OutsideWorld(folder, remembers=remembers)
        world.start()
        made.append(world)
        return world

    yield make
    for world in made:
        world.stop()
