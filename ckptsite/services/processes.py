"""Child processes: how they start, how they are known again, how they end."""

import contextlib
import ctypes
import dataclasses
import functools
import os
import pwd
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from ckptsite.services import folder as folders

_LONG_LOG = 10_000_000
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None


@dataclasses.dataclass(frozen=True, kw_only=True)
class Program:
    """One program that is kept running, with the signals that end it gently."""

    name: str
    command: tuple[str, ...]
    environment: dict[str, str]
    log: Path
    stop_signal: int = signal.SIGTERM
    death_signal: int = signal.SIGTERM  # sent by the system when we die without a word (Linux)
    user: str | None = None
    pass_fds: tuple[int, ...] = ()
    cwd: Path = Path("/")

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments for Popen: a session of its own, and on Linux a signal when its parent dies.

        The session keeps a terminal's Ctrl-C from the child, which is stopped in order instead.
        """
        given: dict[str, Any] = {
            "env": self.environment,
            "stdin": subprocess.DEVNULL,
            "start_new_session": True,
            "pass_fds": self.pass_fds,
            "cwd": self.cwd,
            "preexec_fn": _with_parent(self.death_signal),
        }
        if self.user is not None:
            entry = pwd.getpwnam(self.user)
            given |= {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
        return given


def open_log(path: Path) -> BinaryIO:
    """Append to the log; one that has grown long is put aside first, in the place of the one before it."""
    with contextlib.suppress(FileNotFoundError):
        if path.stat().st_size > _LONG_LOG:
            path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


def start(program: Program) -> subprocess.Popen[bytes]:
    """Start `program` with its output in its log."""
    with open_log(program.log) as log:
        return subprocess.Popen(program.command, stdout=log, stderr=log, **program.arguments())


def stop(process: subprocess.Popen[bytes], program: Program, *, within: float) -> None:
    """End a started program gently, then by force; returns when it is gone."""
    if process.poll() is None:
        with contextlib.suppress(ProcessLookupError):
            process.send_signal(program.stop_signal)
        try:
            process.wait(within)
        except subprocess.TimeoutExpired:
            end_session(process.pid)
    process.wait()


def _with_parent(number: int) -> Callable[[], None] | None:
    if _LIBC is None:
        return None
    parent = os.getpid()

    def in_child() -> None:
        _LIBC.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
        if os.getppid() != parent:  # it died between the fork and the line above
            os._exit(1)

    return in_child


def started_at(pid: int) -> str | None:
    """When process `pid` started, in words that differ for another one of the same number; None if gone."""
    if sys.platform == "linux":
        try:
            fields = (
                Path(f"/proc/{pid}/stat")
                .read_text(encoding="ascii", errors="replace")
                .rpartition(")")[2]
                .split()
            )
        except (FileNotFoundError, ProcessLookupError):
            return None
        return None if fields[0] == "Z" else f"{_boot()}:{fields[19]}"
    shown = subprocess.run(
        ["/bin/ps", "-o", "stat=,lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.split(maxsplit=1)
    return None if len(shown) < 2 or shown[0].startswith("Z") else shown[1].strip()


@functools.cache
def _boot() -> str:
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return ""


def program_name(pid: int) -> str:
    """The name of the program that process `pid` runs, empty when it is gone."""
    if sys.platform == "linux":
        with contextlib.suppress(OSError):
            return Path(f"/proc/{pid}/comm").read_text(encoding="utf-8", errors="replace").strip()
        return ""
    shown = subprocess.run(
        ["/bin/ps", "-o", "comm=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return Path(shown.stdout.strip()).name


def session_lives(pid: int) -> bool:
    """True while any process of the session that `pid` leads is alive."""
    try:
        os.killpg(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def end_session(pid: int) -> None:
    """Kill what is left of the session that `pid` leads."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def note(folder: folders.Folder, name: str, pid: int) -> None:
    """Write down which process runs `name`, so that a later start can recognise it."""
    (folder.pids / name).write_text(f"{pid} {started_at(pid) or ''}", encoding="ascii")


def forget(folder: folders.Folder, name: str) -> None:
    """Take the note back."""
    (folder.pids / name).unlink(missing_ok=True)


def noted(folder: folders.Folder) -> dict[str, int]:
    """The processes of earlier starts that are still alive, by name; a number that means another process
    by now is not among them.
    """
    alive: dict[str, int] = {}
    for path in sorted(folder.pids.glob("*")):
        number, _, start_time = path.read_text(encoding="ascii").partition(" ")
        if number.isdecimal() and start_time and started_at(int(number)) == start_time:
            alive[path.name] = int(number)
        else:
            path.unlink(missing_ok=True)
    return alive


def wait_gone(pid: int, *, within: float) -> bool:
    """True once process `pid` is gone, False after `within` seconds."""
    end = time.monotonic() + within
    while started_at(pid) is not None:
        if time.monotonic() > end:
            return False
        time.sleep(0.05)
    return True
