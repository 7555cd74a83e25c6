"""`manage.py drain`: advances due runs and sends due notices in this process."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandParser

from runs.engine import worker
from runs.management import stopping


class Command(BaseCommand):
    """Does the work of workers and clock in the foreground, without Celery and without a broker."""

    help = "Advance due runs and send due notices in this process, without Celery and without Redis."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the command's options."""
        parser.add_argument(
            "--until-idle",
            action="store_true",
            help="also wait for what becomes due by itself within a minute (back-off, undo window, horizon)",
        )

    def handle(self, *args: object, until_idle: bool = False, **options: object) -> None:
        """Advance until nothing is due, and say how many slices that took."""
        worker.settle_in()
        done = worker.drain(until_idle=until_idle, stopping=stopping.on_signal())
        self.stdout.write(f"{done} slice{'' if done == 1 else 's'} run; nothing else is due.")
