"""One call of a tool in a process of its own, which is killed at a line of the tool's code, or told to stand still."""

from __future__ import annotations

import hashlib
import os
import pickle
import signal
import sys
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from runs.tools import filerefs
from runs.tools.contract import DidNotHappen, FileRef, Receipt

DID, DID_NOT, UNKNOWN, KILLED = "did", "did not happen", "unknown", "killed"


@dataclass(frozen=True, kw_only=True)
class Context:
    """What the tool sees of a trial."""

    idempotency_key: str = ""
    attempt: int = 1
    run_id: int = 1
    seconds: float = 30.0
    files: Mapping[str, bytes] = field(default_factory=dict)
    began: float = field(default_factory=time.monotonic)

    def remaining(self) -> float:
        """Return the seconds left."""
        return max(0.0, self.seconds - (time.monotonic() - self.began))

    def read(self, ref: FileRef) -> bytes:
        """Return the bytes given to the proof under this digest."""
        if ref.sha256 not in self.files:
            raise FileNotFoundError(f"The proof was not given the file {ref.path!r}.")
        return self.files[ref.sha256]

    def secret(self, name: str) -> str:
        """Return what stands for a secret's value in a proof."""
        return f"the value of secret://{name}"

    def attach(self, name: str, content: bytes) -> FileRef:
        """Return the name of the bytes; a trial doesn't keep them."""
        return filerefs.made(name, content)


@dataclass(frozen=True, kw_only=True)
class Ending:
    """How a call ended: it did, it proved that it did not, nobody knows, or its process was killed."""

    how: str
    words: str = ""
    receipt: Receipt | None = None
    lines: int = 0


@dataclass
class Child:
    """A call under way in a process of its own."""

    pid: int
    pipe: int

    def end(self) -> Ending:
        """Return how it ended, once it has."""
        with os.fdopen(self.pipe, "rb") as pipe:
            told = pipe.read()
        _, status = os.waitpid(self.pid, 0)
        if os.WIFSIGNALED(status) or not told:
            return Ending(how=KILLED)
        ending: Ending = pickle.loads(told)  # noqa: S301 - from our own child
        return ending

    def stands_still(self) -> bool:
        """Return whether it stands still, once that is so or it has ended."""
        found = os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
        return found is not None and found.si_code == os.CLD_STOPPED

    def go_on(self) -> None:
        """Let it go on."""
        os.kill(self.pid, signal.SIGCONT)


def key(*parts: object) -> str:
    """Return a key of the shape that the engine mints."""
    return hashlib.sha256(repr((os.getpid(), time.time_ns(), *parts)).encode()).hexdigest()


def call(run: Callable[[], Receipt], *, package: str, at: int = 0, number: int = signal.SIGKILL) -> Child:
    """Return the call in a new process, which gets the signal at the nth line of `package` that it comes to."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", DeprecationWarning
        )  # a fork beside threads: the child runs only the tool
        pid = os.fork()
    if pid:
        os.close(writing)
        return Child(pid=pid, pipe=reading)
    try:
        os.close(reading)
        ending = _ending(run, package, at, number)
        with os.fdopen(writing, "wb") as pipe:
            pipe.write(_told(ending))
    finally:
        os._exit(0)


def _told(ending: Ending) -> bytes:
    try:
        return pickle.dumps(ending)
    except Exception:  # a receipt may hold anything
        return pickle.dumps(Ending(how=ending.how, words=ending.words, lines=ending.lines))


def _ending(run: Callable[[], Receipt], package: str, at: int, number: int) -> Ending:
    passed = {"lines": 0}

    def trace(frame: FrameType, event: str, _argument: Any) -> Any:
        name = str(frame.f_globals.get("__name__", ""))
        if name.partition(".")[0] != package or name.startswith("runs.testing"):
            return None
        if event == "line":
            passed["lines"] += 1
            if passed["lines"] == at:
                os.kill(os.getpid(), number)
        return trace

    sys.settrace(trace)
    try:
        receipt = run()
        sys.settrace(None)
        return Ending(how=DID, receipt=receipt, lines=passed["lines"])
    except DidNotHappen as error:
        sys.settrace(None)
        return Ending(how=DID_NOT, words=error.reason, lines=passed["lines"])
    except Exception as error:
        sys.settrace(None)
        return Ending(how=UNKNOWN, words=f"{type(error).__name__}: {error}", lines=passed["lines"])
