"""The supervisor with small programs: mending, and the three ways a stop can go."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from ckptsite.services import folder as folders
from ckptsite.services import processes, supervisor

_GENTLE = "import time; print('on', flush=True); time.sleep(60)"
_STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {_GENTLE}"
Made = tuple[supervisor.Supervisor, folders.Folder, list[str]]


def program(folder: folders.Folder, code: str, *, name: str = "web") -> processes.Program:
    return processes.Program(
        name=name,
        command=(sys.executable, "-c", code),
        environment=dict(os.environ),
        log=folder.logs / f"{name}.log",
    )


def run(tmp_path: Path, act: Callable[[Made], Coroutine[Any, Any, None]]) -> list[str]:
    """Let `act` play with a supervisor; what the supervisor said."""
    folder = folders.Folder(tmp_path / "data")
    folders.make(folder)
    said: list[str] = []

    async def main() -> None:
        await act((supervisor.Supervisor(folder=folder, say=said.append), folder, said))

    asyncio.run(main())
    assert list(folder.pids.iterdir()) == []
    return said


async def on(folder: folders.Folder, *, times: int = 1) -> None:
    """Until the program has come up this often."""
    async with asyncio.timeout(10):
        while (folder.logs / "web.log").read_text().count("on\n") < times:
            await asyncio.sleep(0.01)


def test_what_dies_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(supervisor, "FIRST_DELAY", 0.01)

    async def act(made: Made) -> None:
        keeper, folder, _ = made
        await keeper.start(program(folder, _GENTLE))
        await on(folder)
        before = keeper.pid("web")
        assert before is not None
        os.kill(before, signal.SIGKILL)
        await on(folder, times=2)
        assert keeper.pid("web") not in {None, before}
        assert keeper.deaths("web") == 1
        await keeper.stop("web", within=5)

    said = run(tmp_path, act)
    assert len(said) == 1
    assert said[0].startswith("web ended (killed by signal 9), starting it again")


def test_a_stubborn_child_is_killed_in_the_end(tmp_path: Path) -> None:
    async def act(made: Made) -> None:
        keeper, folder, _ = made
        await keeper.start(program(folder, _STUBBORN))
        await on(folder)
        pid = keeper.pid("web")
        assert pid is not None
        await keeper.stop("web", within=0.1)
        assert processes.started_at(pid) is None

    assert run(tmp_path, act) == []


def test_patience_holds_the_kill_back(tmp_path: Path) -> None:
    async def act(made: Made) -> None:
        keeper, folder, _ = made
        await keeper.start(program(folder, _STUBBORN))
        await on(folder)
        pid = keeper.pid("web")
        assert pid is not None
        asked: list[bool] = []

        async def patience() -> bool:
            asked.append(processes.started_at(pid) is not None)
            return len(asked) < 4

        await keeper.stop("web", patience=patience, within=0)
        assert asked == [True] * 4
        assert processes.started_at(pid) is None

    run(tmp_path, act)


def test_a_second_signal_cuts_patience_short(tmp_path: Path) -> None:
    async def act(made: Made) -> None:
        keeper, folder, _ = made
        await keeper.start(program(folder, _STUBBORN))
        await on(folder)
        pid = keeper.pid("web")
        assert pid is not None

        async def patience() -> bool:
            keeper.killing.set()
            return True

        async with asyncio.timeout(5):
            await keeper.stop("web", patience=patience, within=0)
        assert processes.started_at(pid) is None

    run(tmp_path, act)


def test_children_of_a_child_are_ended_too(tmp_path: Path) -> None:
    code = f"import subprocess, sys; subprocess.Popen([sys.executable, '-c', {_STUBBORN!r}]); {_GENTLE}"

    async def act(made: Made) -> None:
        keeper, folder, _ = made
        await keeper.start(program(folder, code))
        await on(folder, times=2)
        pid = keeper.pid("web")
        assert pid is not None
        assert processes.session_lives(pid)
        await keeper.stop("web", within=0.2)
        assert not processes.session_lives(pid) or processes.started_at(pid) is None

    run(tmp_path, act)
