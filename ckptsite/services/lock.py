"""One owner a data folder: an advisory lock that ends with its process, however that ends."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path


class Held(Exception):
    """Another process holds the lock; `pid` is its number when it is known."""

    def __init__(self, pid: str) -> None:
        super().__init__(pid)
        self.pid = pid


@contextlib.contextmanager
def own(path: Path) -> Iterator[None]:
    """Hold the lock at `path`; raises Held at once when another process has it."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Held(os.read(handle, 32).decode("ascii", "replace").strip()) from None
        os.ftruncate(handle, 0)
        os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def share(path: Path) -> Iterator[int]:
    """Use together with others; gives the handle for `alone`."""
    handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_SH)
        yield handle
    finally:
        os.close(handle)


def wait(path: Path) -> None:
    """Wait until nobody owns the lock at `path`."""
    with share(path):
        pass


def alone(handle: int) -> None:
    """Wait until nobody else shares the lock."""
    fcntl.flock(handle, fcntl.LOCK_EX)
