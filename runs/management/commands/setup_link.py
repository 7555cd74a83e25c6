"""`manage.py setup_link`: prints the one-time link for the first administrator."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from runs.forms import setup
from runs.transitions import people


class Command(BaseCommand):
    """Prints the link, or nothing where nobody needs it."""

    help = "Print the one-time link with which the first administrator is made; it works for 24 hours."

    def handle(self, *args: Any, **options: Any) -> None:
        """Say the address, or on the error stream that there is an administrator."""
        if people.administrator_exists():
            self.stderr.write("There is an administrator already; set-up is done.")
            return
        self.stdout.write(setup.address())
