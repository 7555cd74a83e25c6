"""Waiting for something to become true, never for time to pass."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(check: Callable[[], T], *, within: float = 10.0, what: str = "") -> T:
    """What `check` returns once it is true; fails after `within` seconds."""
    end = time.monotonic() + within
    while not (found := check()):
        assert time.monotonic() < end, f"did not happen within {within} s: {what or check}"
        time.sleep(0.02)
    return found
