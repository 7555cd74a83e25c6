"""Points at which a worker waits to be killed.

A test arms a gate by a file that names run and point. The worker that comes there takes the file away, puts another
one in its place, and waits. A gate lets through whoever comes after.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

FOLDER = "CKPTSITE_TEST_GATES"
_PATIENCE = 60.0
_now = {"run": 0}


def armed(folder: Path, run_id: int, point: str) -> Path:
    """The file that arms a gate."""
    return folder / f"{run_id}.{point}.armed"


def reached(folder: Path, run_id: int, point: str) -> Path:
    """The file that says that a worker waits there."""
    return folder / f"{run_id}.{point}.reached"


def come_to(point: str) -> None:
    """Wait here if this gate is armed for the run that this process works on, until it is opened."""
    folder = Path(os.environ[FOLDER])
    there = reached(folder, _now["run"], point)
    try:
        armed(folder, _now["run"], point).rename(there)
    except FileNotFoundError:
        return
    end = time.monotonic() + _PATIENCE
    while there.exists() and time.monotonic() < end:
        time.sleep(0.01)


def put_around(owner: Any, name: str, point: str) -> None:
    """Put a gate before and after a function of the product."""
    inner: Callable[..., Any] = getattr(owner, name)

    def through(*args: Any, **kwargs: Any) -> Any:
        come_to(f"{point}.before")
        result = inner(*args, **kwargs)
        come_to(f"{point}.after")
        return result

    mock.patch.object(owner, name, through).start()


def note_claims(steps: Any) -> None:
    """Note which run this process works on, with a gate between the claim and the first move."""
    inner = steps.claim

    def claim(run_id: int) -> Any:
        held = inner(run_id)
        if held is not None:
            _now["run"] = held.run_id
            come_to("claim.after")
        return held

    mock.patch.object(steps, "claim", claim).start()
