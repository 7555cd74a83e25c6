"""`manage.py import_run FILE --by USER`: keeps the record of a run that was exported elsewhere."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs import models
from runs.engine import run_files, run_imports
from runs.transitions import refusals
from runs.transitions.actor import Actor


class Command(BaseCommand):
    """Reads the file once, proves each line, and keeps all of it or nothing."""

    help = (
        "Read FILE, which export_run wrote, into this site as a record: it can be read, searched and exported again, "
        "but not carried out, gone on from or decided. The first line that isn't what was written is named, and then "
        "nothing is kept."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the command's options."""
        parser.add_argument("file", type=Path, help="what export_run wrote")
        parser.add_argument("--by", required=True, metavar="USER", help="the administrator who says so")

    def handle(self, *args: object, file: Path, by: str, **options: Any) -> None:
        """Import the file, and say where it is found."""
        user = models.User.objects.filter(username=by).first()
        if user is None:
            raise CommandError(f"There is nobody named {by!r} here.")
        try:
            with file.open("rb") as opened:
                run = run_imports.bring(opened, source=file.name, by=Actor(user=user, channel="shell"))
        except refusals.Refused as refusal:
            raise CommandError(refusal.message) from refusal
        except (run_files.BadFile, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"Imported run {run.pk}: run {run.number} “{run.title}”, {run.status}: {run.lines} lines, head {run.head}"
        )
