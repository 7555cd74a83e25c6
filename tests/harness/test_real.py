"""A few real kills: processes of a real site die, and nothing is doubled or lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.skipif(
    not os.environ.get("CKPTSITE_HARNESS"),
    reason="tests/kills kills real processes always; more of it by CKPTSITE_HARNESS=table or full",
)
@pytest.mark.seconds
def test_real_kills_double_and_lose_nothing() -> None:
    command = [sys.executable, "-m", "tests.harness.real", "--kills", "6", "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.stdout, done.stderr
    figures = json.loads(done.stdout)
    assert figures["violations"] == []
    assert (figures["total"], figures["exit"], done.returncode) == (6, 0, 0)
    assert figures["effects"] >= 6
