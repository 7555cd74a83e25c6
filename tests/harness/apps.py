"""The harness as an app of a real site: its tools, a slow way to the world, and late acknowledgement where asked for.

A worker's child notes in a file when it is inside an effect, so that a nemesis can choose it.
"""

from __future__ import annotations

import os
import random
import time
from datetime import timedelta
from pathlib import Path

from django.apps import AppConfig

INSIDE = "CKPTSITE_HARNESS_INSIDE"
LATE_ACK = "CKPTSITE_HARNESS_LATE_ACK"


class HarnessConfig(AppConfig):
    """Only in the processes of `tests.harness.real`."""

    name = "tests.harness"

    def ready(self) -> None:
        """Prepare a worker."""
        if INSIDE not in os.environ:
            return
        from ckptsite.celery import app
        from runs import points
        from tests.harness import tools

        for kind in (tools.Bare, tools.Look, tools.Idempotent):  # real processes on a busy machine are slow
            kind.timeout, kind.settle = timedelta(seconds=3), timedelta(seconds=0.5)
        late = os.environ.get(LATE_ACK) == "yes"
        app.conf.task_acks_late = app.conf.task_reject_on_worker_lost = late
        points.arm(_dawdle)


def _dawdle(name: str) -> None:
    """Take a moment on the way to the world and back, and say so."""
    if name not in {"effect.before_send", "effect.after_send"}:
        return
    note = Path(os.environ[INSIDE]) / str(os.getpid())
    note.touch()
    time.sleep(random.uniform(0.02, 0.2))
    if name == "effect.after_send":
        note.unlink(missing_ok=True)
