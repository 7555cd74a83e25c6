"""Gates around the commits of the engine and around what reaches the world."""

from __future__ import annotations

import os
from datetime import timedelta
from pathlib import Path

from django.apps import AppConfig

from tests.kills import gates


class KillsConfig(AppConfig):
    """Only in processes that a test starts for this."""

    name = "tests.kills"

    def ready(self) -> None:
        """Put the gates in place."""
        if gates.FOLDER not in os.environ:
            return
        from runs.demo import ledger
        from runs.engine import outside
        from runs.tools import mail_folder, registry
        from runs.transitions import steps
        from tests.engine import lock_order, locks
        from tests.kills import tools

        for name in ("email.send", "ledger.post_late_fee"):  # a lost worker is waited for up to its deadline
            kind = type(registry.get(name))
            kind.timeout, kind.settle = timedelta(seconds=3), timedelta(seconds=0.5)
        # Real workers too lock in order, and call no tool or model with a lock held.
        lock_order.everywhere(into=Path(os.environ[gates.FOLDER]).with_name("wrong"))
        outside.watch(locks.none_held)
        gates.note_claims(steps)
        for name in ("reply", "prepare", "fold_in", "intent", "happened", "finish"):
            gates.put_around(steps, name, name)
        gates.put_around(mail_folder, "keep", "mail")
        gates.put_around(ledger, "post", "fee")
        gates.put_around(tools, "transmit", "wire")
