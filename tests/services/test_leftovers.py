"""What a killed `up` left is cleared; what merely has the same number is left alone."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ckptsite.services import folder as folders
from ckptsite.services import leftovers, processes
from tests import waiting

_STUBBORN = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("on", flush=True)
time.sleep(600)
"""


@pytest.fixture
def folder(tmp_path: Path) -> folders.Folder:
    made = folders.Folder(tmp_path / "data")
    folders.make(made)
    return made


@pytest.fixture
def stubborn() -> Iterator[subprocess.Popen[str]]:
    """A process in a session of its own that ignores SIGTERM."""
    process = subprocess.Popen(
        [sys.executable, "-c", _STUBBORN], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "on\n"
        yield process
        process.kill()


def test_a_noted_process_is_ended(
    folder: folders.Folder, stubborn: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leftovers, "_PATIENCE", 0.2)
    processes.note(folder, "web", stubborn.pid)
    said: list[str] = []
    leftovers.clear(folder, database_url="postgresql://127.0.0.1:1/none", say=said.append)
    assert waiting.until(lambda: stubborn.poll() is not None)
    assert said == [f"Clearing web (process {stubborn.pid}), left by an earlier start"]
    assert list(folder.pids.iterdir()) == []


def test_another_process_with_the_same_number_lives_on(
    folder: folders.Folder, stubborn: subprocess.Popen[str]
) -> None:
    (folder.pids / "postgres").write_text(f"{stubborn.pid} the time of another process")
    said: list[str] = []
    leftovers.clear(folder, database_url="postgresql://127.0.0.1:1/none", say=said.append)
    assert stubborn.poll() is None
    assert said == []
    assert list(folder.pids.iterdir()) == []
