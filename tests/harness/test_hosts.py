"""A host that is cut off in the middle of an effect: another one takes over, and nothing is doubled or lost."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from tests.harness import hosts, wires

ROOT = Path(__file__).parent.parent.parent


@pytest.mark.seconds
def test_a_host_that_was_cut_off_doubles_and_writes_nothing() -> None:
    figures = _figures()
    assert figures["violations"] == []
    (trial,) = figures["trials"]
    assert (trial["status"], trial["effects"], figures["exit"]) == ("succeeded", 1, 0)


@pytest.mark.skipif(
    os.environ.get("CKPTSITE_HARNESS") != "full", reason="CKPTSITE_HARNESS=full plays wrong engines"
)
@pytest.mark.seconds
def test_workers_that_try_again_whatever_happened_are_caught() -> None:
    figures = _figures("--wrong", "naive_retry")
    assert any("doubled:" in sentence for sentence in figures["violations"])
    assert figures["exit"] == 1


def test_where_no_network_can_be_made_one_sentence_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    refused: subprocess.CompletedProcess[str] = subprocess.CompletedProcess((), 1)
    with mock.patch.object(subprocess, "run", return_value=refused):
        assert hosts.main(["--few"]) == 2
    assert capsys.readouterr().err == f"{wires.MISSING}\n"


def _figures(*more: str) -> dict[str, Any]:
    try:
        wires.able()
    except wires.Missing as missing:
        pytest.skip(str(missing))
    command = [sys.executable, "-m", "tests.harness.hosts", "--few", "--json", *more]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=280, check=False)
    assert done.stdout, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    return figures
