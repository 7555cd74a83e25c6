"""`manage.py clock`: finds what time has made due, once a second."""

from __future__ import annotations

from django.core.management.base import BaseCommand

from runs.engine import clock
from runs.management import stopping


class Command(BaseCommand):
    """Expires questions, hints at due runs, takes over lost ones; works alone when the broker is gone."""

    help = (
        "Find what time has made due: due runs, expired questions, leases that are over. Runs until stopped."
    )

    requires_system_checks = []  # they load every page, which this process never serves

    def handle(self, *args: object, **options: object) -> None:
        """Run until SIGTERM or SIGINT."""
        clock.run(stopping=stopping.on_signal())
