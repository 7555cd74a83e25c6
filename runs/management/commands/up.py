"""`manage.py up` for `help`; manage.py itself goes to the services before Django loads."""

import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from ckptsite.services import up


class Command(BaseCommand):
    help = "Start PostgreSQL, Valkey, worker, clock and the pages; stop them with Ctrl-C."
    requires_system_checks = []

    def add_arguments(self, parser: CommandParser) -> None:
        up.add_arguments(parser)

    def handle(self, *_args: Any, **_options: Any) -> None:
        sys.exit(up.main(sys.argv[2:]))
