"""The engine passes the crash harness: seeds, every crash point; and an engine that is built wrongly doesn't."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.harness import controls, table, wrongs

ROOT = Path(__file__).parent.parent.parent
MODE = os.environ.get("CKPTSITE_HARNESS", "")
"""What is played: "full" is everything, each row alone, for half an hour; "table" the whole table in packs; without it
the packs along the path of an effect."""
FULL = MODE == "full"
SEEDS = 200 if FULL else 20
WHICH = "" if MODE in {"table", "full"} else (
    r"^(claim|reply|prepare|decide|fold_in|intent|effect|wire|happened|lookup|unknown|evidence|wait|finish)\."
)  # fmt: skip
TABLE = ("--table", WHICH) if FULL else ("--table", WHICH, "--packed")
ALL_ROWS = table.rows()
PACKS = [pack for pack in table.packs() if re.search(WHICH, pack.name)]
ROWS = ALL_ROWS if FULL else [part for pack in PACKS for part in pack.parts]


@lru_cache(maxsize=4)
def harness(*arguments: str) -> dict[str, Any]:
    """Return the figures that the command prints."""
    command = [sys.executable, "-m", "tests.harness.crash", "--json", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=3600, check=False)
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
    told = harness(*TABLE)["rows"][row.name]
    assert told["violations"] == []


@pytest.mark.seconds
def test_nearly_every_death_befalls_somebody() -> None:
    """On a busy machine a run may miss the point where it was to die; then the row has shown nothing."""
    told = harness(*TABLE)["rows"]
    reached = [name for name, row in told.items() if row["befell"] >= row["wanted"]]
    assert len(reached) >= 0.9 * len(ROWS), sorted(set(told) - set(reached))


@pytest.mark.seconds
def test_the_table_leaves_a_database_that_verifies() -> None:
    assert harness(*TABLE)["verified"] == []


def test_the_table_names_each_point_or_says_why_not() -> None:
    from tests.harness import seams

    named = {point for row in ALL_ROWS for _, point in row.wanted}
    left = {point for point in seams.names() if point not in named and point not in table.NOBODY_INSIDE}
    assert {table.kind_of(point) for point in left} <= table.NOT_IN_A_RUN.keys()


@pytest.mark.parametrize("name", controls.CONTROLS)
def test_each_control_changes_what_is_there(name: str) -> None:
    with mock.patch.object(wrongs, "_put", wraps=wrongs._put) as put, controls.broken(name):
        changed = [(call.args[1], call.args[2]) for call in put.call_args_list]
        assert changed
        built = [getattr(owner, attribute) for owner, attribute in changed]
    assert all(
        getattr(owner, attribute) is not wrong
        for (owner, attribute), wrong in zip(changed, built, strict=True)
    )


@pytest.mark.seconds
@pytest.mark.skipif(not FULL, reason="all wrong engines take minutes; set CKPTSITE_HARNESS=full")
def test_each_control_is_caught_and_the_engine_as_it_is_passes_the_same_plans() -> None:
    figures = harness("--control", "all")
    assert figures["missed"] == []
    assert len(figures["controls"]) >= 14
