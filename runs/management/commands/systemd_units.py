"""`manage.py systemd_units FOLDER`: the units with which systemd keeps a site of several processes running."""

from __future__ import annotations

import re
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from ckptsite import env
from ckptsite.services import units

# What else a path may hold has a meaning in a unit: spaces, quotes, %.
_PATH = re.compile(r"/[A-Za-z0-9._+@/-]*\Z")
_USER = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*\Z")


class Command(BaseCommand):
    """Writes them, and starts nothing."""

    help = (
        "Write units for systemd: so many web processes and workers, a clock, and what prepares the tables."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add where they go, and of what there are how many."""
        parser.add_argument("folder", type=Path, help="where they are written, such as /etc/systemd/system")
        parser.add_argument("--user", default="ckptsite", help="the account that they run as (ckptsite)")
        parser.add_argument(
            "--environment",
            type=Path,
            default=Path("/etc/ckptsite.env"),
            help="file with DATABASE_URL, REDIS_URL, PUBLIC_URL and the like (/etc/ckptsite.env)",
        )
        parser.add_argument(
            "--data", type=Path, default=Path("/var/lib/ckptsite"), help="data folder of all of them"
        )
        parser.add_argument("--webs", type=int, default=2, help="web processes, on ports from 8001 on (2)")
        parser.add_argument("--workers", type=int, default=2, help="worker processes (2)")

    def handle(self, *args: object, **options: object) -> None:
        """Write each unit and say its name."""
        folder, webs, workers = options["folder"], options["webs"], options["workers"]
        assert isinstance(folder, Path)
        assert isinstance(webs, int)
        assert isinstance(workers, int)
        if webs < 1 or workers < 1:
            raise CommandError("A site has at least one web process and one worker.")
        for name in ("environment", "data"):
            if not _PATH.match(str(options[name])):
                raise CommandError(
                    f"--{name} is {str(options[name])!r}: give a whole path, of letters, digits and . _ - + @ only."
                )
        if not _USER.match(str(options["user"])):
            raise CommandError(f"--user is {str(options['user'])!r}, which is no name of an account.")
        site = units.Site(
            user=str(options["user"]),
            environment=Path(str(options["environment"])),
            data=Path(str(options["data"])),
            webs=webs,
            workers=workers,
            slots=env.integer("CKPTSITE_SLOTS", 2, minimum=1),
            proxied=env.flag("TRUST_PROXY", default=False),
        )
        for name, text in units.units(site).items():
            try:
                (folder / name).write_text(text, encoding="utf-8")
            except OSError as error:
                raise CommandError(f"{folder / name} can't be written: {error.strerror}.") from error
            self.stdout.write(str(folder / name))
