"""A program of an agent's in a box made by bubblewrap: one folder and the system's programs, no network, nobody's keys.

The box has namespaces of its own for everything, no capability, an empty environment, and may make no further
namespaces. Processor seconds and memory are limited for each of its processes; time, output, memory and the number of
processes for all of them together. It ends with the worker: a kill of the worker kills everything in the box.
"""

from __future__ import annotations

import contextlib
import functools
import os
import resource
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from runs.tools import boxed

BOX = "/work"
_SYSTEM = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")
_ISOLATED = (
    "--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session", "--clearenv",
    "--cap-drop", "ALL", "--uid", "65534", "--gid", "65534", "--hostname", "sandbox",
    "--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", BOX, "--setenv", "LANG", "C.UTF-8",
    "--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/alternatives", "/etc/alternatives",
    "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache", "--proc", "/proc", "--dev", "/dev",
    "--size", "268435456", "--tmpfs", "/tmp",  # noqa: S108 - the box's own
)  # fmt: skip
LOOK = 0.2
"""Seconds between two looks at what the box uses."""
HIDDEN = (".git", ".ckptsite")
"""Folders of the workspace that the box may not change: settings that would make programs run outside of it."""


class NoSandbox(RuntimeError):
    """Nothing was run, because there is no box to run it in; one sentence."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """How much of the machine a program may use."""

    seconds: float
    memory: int
    output: int


@dataclass(frozen=True, kw_only=True)
class Ended:
    """How it ended. `late`: its time was over, and it was killed; `excess`: it was killed for what it used."""

    code: int
    out: bytes
    err: bytes
    cut: bool
    late: bool
    excess: str = ""


@functools.cache
def trouble() -> str:
    """Return why there is no sandbox on this machine, in one sentence, or nothing. Tried once in each process."""
    found = shutil.which("bwrap")
    if found is None:
        return "bubblewrap isn't installed, and nothing is run without it (Debian, Ubuntu: apt install bubblewrap)."
    try:
        tried = subprocess.run(
            [found, *_box(None), "--", "/usr/bin/true"], capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.SubprocessError) as error:
        return f"bubblewrap doesn't work here, and nothing is run without it: {error}."
    if tried.returncode:
        said = " ".join(tried.stderr.decode("utf-8", "replace").split())[:300]
        return f"bubblewrap doesn't work here, and nothing is run without it: {said or tried.returncode}."
    return ""


def python() -> str:
    """Return the program that runs Python in the box."""
    return os.path.realpath(sys.executable)


def run(program: Sequence[str], *, workspace: Path, limits: Limits, given: bytes = b"") -> Ended:
    """Return how the program ended in a box with the workspace as its folder. Refuses NoSandbox."""
    if why := trouble():
        raise NoSandbox(why)
    bwrap = shutil.which("bwrap")
    assert bwrap is not None
    end = time.monotonic() + limits.seconds

    def limited() -> None:
        seconds, memory = int(limits.seconds) + 1, limits.memory * 1024 * 1024
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
        resource.setrlimit(resource.RLIMIT_AS, (memory, memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    with subprocess.Popen(
        [bwrap, *_box(workspace), "--", *program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={},
        preexec_fn=limited,  # noqa: PLW1509 - only system calls
        start_new_session=True,
    ) as process:
        try:
            return _heard(process, end, limits, given)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


def _box(workspace: Path | None) -> list[str]:
    found = list(_ISOLATED)
    for place in _SYSTEM:
        if os.path.islink(place):
            found += ["--symlink", os.readlink(place), place]
        elif os.path.isdir(place):
            found += ["--ro-bind", place, place]
    base = os.path.realpath(sys.base_prefix)
    if not base.startswith("/usr"):
        found += ["--ro-bind", base, base]
    if workspace is not None:
        found += ["--bind", str(workspace), BOX]
        for name in HIDDEN:
            if (workspace / name).exists():
                found += ["--ro-bind", str(workspace / name), f"{BOX}/{name}"]
        found += ["--chdir", BOX]
    return found


def _heard(process: subprocess.Popen[bytes], end: float, limits: Limits, given: bytes) -> Ended:
    """Give it its input, keep so much of what it says and drop the rest, until it ends or its time is over."""
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stderr is not None
    heard: dict[str, bytearray] = {"out": bytearray(), "err": bytearray()}
    cut, late, excess, most = False, False, "", limits.output
    looked = time.monotonic()
    with selectors.DefaultSelector() as waiting:
        waiting.register(process.stdout, selectors.EVENT_READ, "out")
        waiting.register(process.stderr, selectors.EVENT_READ, "err")
        waiting.register(process.stdin, selectors.EVENT_WRITE, "in")
        os.set_blocking(process.stdin.fileno(), False)
        left = memoryview(given)
        while waiting.get_map() and not (late or excess):
            ready = waiting.select(max(0.0, min(end - time.monotonic(), LOOK)))
            if time.monotonic() >= looked + LOOK:
                excess, looked = boxed.excess(process.pid, memory=limits.memory), time.monotonic()
            for key, _ in ready:
                if key.data == "in":
                    left = _given(key.fd, left)
                    if not left:
                        waiting.unregister(process.stdin)
                        process.stdin.close()
                    continue
                piece = os.read(key.fd, 65_536)
                if not piece:
                    waiting.unregister(key.fileobj)
                kept = heard[key.data]
                cut = cut or len(kept) + len(piece) > most
                kept += piece[: max(0, most - len(kept))]
            late = time.monotonic() >= end
    while not (late or excess):  # it has closed what it says, and may go on all the same
        try:
            process.wait(LOOK)
            break
        except subprocess.TimeoutExpired:
            late = time.monotonic() >= end
            excess = boxed.excess(process.pid, memory=limits.memory)
    if late or excess:
        os.killpg(process.pid, signal.SIGKILL)
    out, err = bytes(heard["out"]), bytes(heard["err"])
    return Ended(code=process.wait(), out=out, err=err, cut=cut, late=late, excess=excess)


def _given(fd: int, left: memoryview) -> memoryview:
    try:
        return left[os.write(fd, left[:65_536]) :] if left else left
    except BlockingIOError:
        return left
    except BrokenPipeError:
        return left[:0]
