"""`manage.py export_run RUN FILE`: writes one run into a file of its own, and `--check FILE` proves such a file."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs import models
from runs.engine import run_files
from runs.models import tombstone
from runs.transitions import retention


class Command(BaseCommand):
    """Writes as far as the run has come, or reads what was written."""

    help = (
        "Write the log of RUN, with what it goes on from, into a new FILE: JSON lines with their digests. With --check "
        "follow the chain of such a file instead, without asking the database; exit 1 with the first line that differs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the command's options."""
        parser.add_argument("run", nargs="?", type=int, help="number of the run")
        parser.add_argument("file", nargs="?", type=Path, help="where it is written; must not exist yet")
        parser.add_argument(
            "--imported",
            action="store_true",
            help="RUN is the number of an imported run; the same bytes again",
        )
        parser.add_argument("--check", type=Path, metavar="FILE", help="a file that was written before")

    def handle(self, *args: object, **options: Any) -> None:
        """Write or check, and say what the file holds."""
        number, path, old = options["run"], options["file"], options["check"]
        if (old is None) == (number is None) or (number is None) != (path is None):
            raise CommandError("Name a run and a new file, or a file to --check.")
        try:
            if old is None:
                _write(path, _imported(number) if options["imported"] else _lines(number))
            with (old or path).open("rb") as file:
                found = run_files.check(file)
        except (run_files.BadFile, OSError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"Run {found.run} “{found.title}”, {found.status}: {found.lines} lines, head {found.head}"
        )


def _lines(number: int) -> Iterator[bytes]:
    run = models.Run.objects.select_related("agent_version__agent").filter(pk=number).first()
    if run is None:
        raise CommandError(f"There is no run {number}.")
    if tombstone.is_erased(run):
        raise CommandError(retention.told(run))
    return run_files.written(run)


def _imported(number: int) -> Iterator[bytes]:
    run = models.ImportedRun.objects.filter(pk=number).first()
    if run is None:
        raise CommandError(f"There is no imported run {number}.")
    return run_files.again(run)


def _write(path: Path, lines: Iterator[bytes]) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
