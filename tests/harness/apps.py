"""The harness as an app of a real site: its tools, a slow way to the world, and late acknowledgement where asked for.

A worker's child notes in a file when it is inside an effect, so that a nemesis can choose it.
"""

from __future__ import annotations

import os
import random
import time
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path

from django.apps import AppConfig

INSIDE = "CKPTSITE_HARNESS_INSIDE"
GATES = "CKPTSITE_HARNESS_GATES"
WRONG = "CKPTSITE_HARNESS_WRONG"
PATIENCE = 90.0
LATE_ACK = "CKPTSITE_HARNESS_LATE_ACK"


class HarnessConfig(AppConfig):
    """Only in the processes of `tests.harness.real` and `tests.harness.hosts`."""

    name = "tests.harness"

    def ready(self) -> None:
        """Prepare a worker."""
        if INSIDE not in os.environ:
            return
        from celery.signals import task_postrun

        from ckptsite.celery import app
        from runs import points
        from tests.harness import tools

        for kind in (tools.Bare, tools.Look, tools.Idempotent):  # real processes on a busy machine are slow
            kind.timeout, kind.settle = timedelta(seconds=3), timedelta(seconds=0.5)
        late = os.environ.get(LATE_ACK) == "yes"
        app.conf.task_acks_late = app.conf.task_reject_on_worker_lost = late
        points.arm(_stop_at_gate if GATES in os.environ else _dawdle)
        if GATES in os.environ:
            task_postrun.connect(_rest)
        if WRONG in os.environ:
            from tests.harness import wrongs

            getattr(wrongs, os.environ[WRONG])(ExitStack())


def _dawdle(name: str) -> None:
    """Take a moment on the way to the world and back, and say so."""
    if name not in {"effect.before_send", "effect.after_send"}:
        return
    note = Path(os.environ[INSIDE]) / str(os.getpid())
    note.touch()
    time.sleep(random.uniform(0.02, 0.2))
    if name == "effect.after_send":
        note.unlink(missing_ok=True)


def _stop_at_gate(name: str) -> None:
    """Say who came to the gate of this name, if it is closed, and wait until it is opened."""
    gates = Path(os.environ[GATES])
    mine = gates / f"at.{os.getpid()}"
    try:
        (gates / f"closed.{name}").rename(mine)
    except FileNotFoundError:
        return
    end = time.monotonic() + PATIENCE
    while mine.exists() and time.monotonic() < end:
        time.sleep(0.01)


def _rest(**_: object) -> None:
    """Say that this process has done what it was told of."""
    (Path(os.environ[GATES]) / f"rested.{os.getpid()}").touch()
