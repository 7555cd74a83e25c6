"""The engine passes the crash harness: seeds, every crash point; and an engine that is built wrongly doesn't."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest

from tests.harness import controls, table

ROOT = Path(__file__).parent.parent.parent
FULL = os.environ.get("CKPTSITE_HARNESS") == "full"
"""Whether everything is played, for half an hour; without it what fits into the suite."""
SEEDS = 200 if FULL else 40
ALL_ROWS = table.rows()
WHICH = "" if FULL else "intent"
"""The rows that the suite plays: what lies on either side of an intent."""
ROWS = [row for row in ALL_ROWS if WHICH in row.name]


@lru_cache(maxsize=4)
def harness(*arguments: str) -> dict[str, Any]:
    """Return the figures that the command prints."""
    command = [sys.executable, "-m", "tests.harness.crash", "--json", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False)
    assert done.stdout, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    assert figures["exit"] == done.returncode
    return figures


@pytest.mark.seconds
def test_nothing_is_doubled_or_lost() -> None:
    figures = harness("--seeds", str(SEEDS), "--start", "1")
    assert figures["violations"] == []
    assert figures["kills"] > SEEDS / 2
    assert figures["stalls"] > SEEDS / 10
    assert figures["effects"] > SEEDS


@pytest.mark.seconds
@pytest.mark.parametrize("row", ROWS, ids=[row.name for row in ROWS])
def test_a_death_at_every_point(row: table.Row) -> None:
    told = harness("--table", WHICH)["rows"][row.name]
    assert told["violations"] == []


@pytest.mark.seconds
def test_nearly_every_death_befalls_somebody() -> None:
    """On a busy machine a run may miss the point where it was to die; then the row has shown nothing."""
    told = harness("--table", WHICH)["rows"]
    reached = [name for name, row in told.items() if row["befell"] >= row["wanted"]]
    assert len(reached) >= 0.9 * len(ROWS), sorted(set(told) - set(reached))


@pytest.mark.seconds
def test_the_table_leaves_a_database_that_verifies() -> None:
    assert harness("--table", WHICH)["verified"] == []


def test_the_table_names_each_point_or_says_why_not() -> None:
    from tests.harness import seams

    named = {point for row in ALL_ROWS for _, point in row.wanted}
    left = {point for point in seams.names() if point not in named and point not in table.NOBODY_INSIDE}
    assert {table.kind_of(point) for point in left} <= table.NOT_IN_A_RUN.keys()


@pytest.mark.parametrize("name", controls.CONTROLS)
def test_each_control_changes_what_is_there(name: str) -> None:
    with controls.broken(name):
        pass


@pytest.mark.seconds
@pytest.mark.skipif(not FULL, reason="all wrong engines take minutes; set CKPTSITE_HARNESS=full")
def test_each_control_is_caught_and_the_engine_as_it_is_passes_the_same_plans() -> None:
    figures = harness("--control", "all")
    assert figures["missed"] == []
    assert len(figures["controls"]) >= 14
