"""`manage.py backup`: the whole database in one file, while everything goes on."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from ckptsite import env
from ckptsite.services import dumps


class Command(BaseCommand):
    """Writes the file, and says what isn't in it."""

    help = (
        "Write the whole database into a new file, as it is at one moment; workers and pages go on meanwhile."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the command's argument."""
        parser.add_argument("file", type=Path, metavar="FILE", help="the file that is made")

    def handle(self, *args: object, file: Path, **options: object) -> None:
        """Write it, or say in one sentence why not."""
        try:
            size = dumps.write(dumps.address(settings.CKPTSITE_DATA), file)
        except env.EnvError as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"Written: {file} ({size:,} bytes). Not in it are the keys ({dumps.KEYS} in "
            f"{settings.CKPTSITE_DATA}, unless they are given by name): keep those apart from it, and don't lose them."
        )
