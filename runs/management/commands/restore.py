"""`manage.py restore`: a backup in an empty database, in which no effect starts before a person says so."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.core import management
from django.core.management.base import BaseCommand, CommandError, CommandParser

from ckptsite import env
from ckptsite.services import dumps
from runs.engine import origin
from runs.transitions import restores


class Command(BaseCommand):
    """Loads the file, brings the tables up to date, and notes that the database was restored."""

    help = (
        "Load what manage.py backup wrote into an empty database, and note there that it was restored: no effect "
        "starts until manage.py release_restored."
    )
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the command's argument."""
        parser.add_argument("file", type=Path, metavar="FILE", help="the file that manage.py backup wrote")

    def handle(self, *args: object, file: Path, **options: object) -> None:
        """Load it, or say in one sentence why not; exit code 1 as well where the keys are others."""
        try:
            dumps.load(dumps.address(settings.CKPTSITE_DATA), file)
        except env.EnvError as error:
            raise CommandError(str(error)) from error
        management.call_command("migrate", interactive=False, verbosity=0)
        if not restores.keys_fit():
            raise CommandError(
                f"It is restored, but the keys here are others than its own: put the files {dumps.KEYS} of "
                f"that time into {settings.CKPTSITE_DATA} (or give the keys by name) before anything is started."
            )
        restores.found(str(origin.read()), why=f"It was restored from the backup {file.name}.")
        self.stdout.write(
            "Restored. No effect starts in it until manage.py release_restored --by USER --reason TEXT."
        )
