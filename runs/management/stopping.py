"""Turning SIGTERM and SIGINT into a question that loops ask."""

from __future__ import annotations

import signal
from collections.abc import Callable
from types import FrameType


def on_signal() -> Callable[[], bool]:
    """Return a function that says whether this process was told to stop."""
    told = {"stop": False}

    def note(_number: int, _frame: FrameType | None) -> None:
        told["stop"] = True

    signal.signal(signal.SIGTERM, note)
    signal.signal(signal.SIGINT, note)
    return lambda: told["stop"]
