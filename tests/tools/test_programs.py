"""Programs of agents: what a box keeps in, and that nothing runs without one."""

from __future__ import annotations

import socket
from pathlib import Path
from typing import Any

import pytest
from pytest_django import Settings

from runs.tools import contract, programs, sandbox
from tests.tools.call import Call

boxed = pytest.mark.skipif(bool(sandbox.trouble()), reason=f"no sandbox here: {sandbox.trouble()}")


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    folder = tmp_path / "desk"
    (folder / ".git").mkdir(parents=True)
    (folder / "old").write_text("old")
    (tmp_path / "outside").write_text("secret")
    settings.CKPTSITE_TOOLS = {
        "files": {"desk": {"folder": str(folder), "write": True}},
        "sandbox": {"workspaces": ["desk"], "seconds": 3, "memory": 256, "output": 10},
    }
    return folder


def shell(command: str, seconds: float = 20.0) -> dict[str, Any]:
    args = programs.Shell.parse({"workspace": "desk", "reference": "R", "command": command})
    receipt = programs.Shell().run(args, Call(seconds=seconds))
    assert isinstance(receipt.value, dict)
    return receipt.value


def python(code: str) -> dict[str, Any]:
    args = programs.Python.parse({"workspace": "desk", "reference": "R", "code": code})
    receipt = programs.Python().run(args, Call(seconds=20))
    assert isinstance(receipt.value, dict)
    return receipt.value


def test_nothing_runs_without_a_sandbox(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    sandbox.trouble.cache_clear()
    try:
        with pytest.raises(
            contract.DidNotHappen, match="bubblewrap isn't installed, and nothing is run without it"
        ):
            shell("touch done")
        args = programs.Shell.parse({"workspace": "desk", "reference": "R", "command": "x"})
        assert "nothing is run" in programs.Shell().preview(args, Call()).warnings[0]
    finally:
        sandbox.trouble.cache_clear()
    assert not (folder / "done").exists()


@boxed
def test_a_program_reaches_its_workspace_and_nothing_else(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY", "the-key")
    found = shell(
        "echo new > new; echo more >> old; rm -f x; id -u; env; ls -a / /root /home /etc 2>&1; cat ../outside"
    )
    assert found["changed"] == ["new", "old"]
    assert found["output"].startswith("65534\n")
    assert "the-key" not in found["output"]
    assert "secret" not in found["output"] + found["errors"]
    assert found["code"] != 0
    for command in (
        "touch .git/config", "mkdir .git/hooks", "touch /usr/x", "unshare -U true", "mount -t tmpfs none /mnt",
    ):  # fmt: skip
        assert shell(command)["code"] != 0, command

    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        met = python(f"import socket; socket.create_connection(('127.0.0.1', {port}), 1)")
    assert "Error" in met["errors"]
    assert met["code"] == 1
    assert python("print(sum(range(10)))")["output"] == "45\n"


@boxed
def test_a_program_has_limits(folder: Path) -> None:
    assert "MemoryError" in python("x = 'x' * 1_000_000_000")["errors"]
    loud = shell("yes | head -c 1000000")
    assert (len(loud["output"]), loud["cut"]) == (10_000, True)
    held = "x = b'x' * 60_000_000; import time; time.sleep(30)"
    together = python(
        f"import subprocess, sys\nfor _ in range(5): p = subprocess.Popen([sys.executable, '-c', {held!r}])\np.wait()"
    )
    assert together["excess"] == "Its processes used more than 256 MB together."
    many = shell("for n in $(seq 80); do sleep 30 & done; wait")
    assert many["excess"] == "It had more than 64 processes at once."
    slow = shell("(sleep 60; touch late) & sleep 60", seconds=3.2)
    assert slow["late"]
    with pytest.raises(contract.DidNotHappen, match="time was over"):
        shell("touch x", seconds=1)
    with pytest.raises(contract.DidNotHappen, match="No program may run in the workspace 'other'"):
        programs.Shell().run(
            programs.Shell.parse({"workspace": "other", "reference": "R", "command": "x"}), Call()
        )
