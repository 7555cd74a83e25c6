"""A few seeds of the crash harness: the engine passes, an engine that is built wrongly doesn't."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent.parent


def harness(*arguments: str) -> dict[str, Any]:
    """Return the figures that the command prints."""
    command = [sys.executable, "-m", "tests.harness.crash", "--json", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert done.stdout, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    assert figures["exit"] == done.returncode
    return figures


@pytest.mark.seconds
def test_nothing_is_doubled_or_lost() -> None:
    figures = harness("--seeds", "16", "--start", "1")
    assert figures["violations"] == []
    assert figures["kills"] > 0
    assert figures["effects"] > 16


@pytest.mark.seconds
def test_a_naive_retry_is_caught() -> None:
    figures = harness("--seeds", "8", "--start", "1", "--control", "naive-retry")
    assert figures["doubled"] > 0
    assert figures["exit"] == 1
