"""`manage.py demo_setup`: the demo's accounts and runs."""

from __future__ import annotations

import os
from typing import Any

from django.core.management.base import BaseCommand

from runs.demo import setup


class Command(BaseCommand):
    """Make the demo's accounts and start its three runs, once."""

    help = "Make the demo's accounts and start its three runs. Doing it again changes nothing."

    def handle(self, *args: Any, **options: Any) -> None:
        """Say what was made, and the password where one was set."""
        made = setup.everything(os.environ.get("CKPTSITE_DEMO_PASSWORD", ""))
        names = ", ".join(name for name, *_ in setup.ACCOUNTS)
        if made.password is None:
            self.stdout.write(f"Demo accounts: {names}. Their passwords are unchanged.")
            self.stdout.write("Set CKPTSITE_DEMO_PASSWORD to give them a new one.")
        else:
            self.stdout.write(f"Demo accounts: {', '.join(made.accounts)}. Password: {made.password}")
        self.stdout.write(f"Demo runs: {', '.join(f'{run.title} ({run.pk})' for run in made.runs)}.")
