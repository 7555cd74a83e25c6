"""`manage.py sql_grants ROLE`: the SQL that lets web, worker and clock be a role that rewrites nothing."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandParser

from runs.selectors import grants


class Command(BaseCommand):
    """Prints it, and runs nothing."""

    help = (
        "Print the SQL that gives ROLE what web, worker and clock need; it can't change audit trail or logs."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the role."""
        parser.add_argument(
            "role", help="a role that is there, and owns nothing: CREATE ROLE ... LOGIN PASSWORD ..."
        )

    def handle(self, *args: object, **options: object) -> None:
        """Print one statement a line."""
        for statement in grants.statements(str(options["role"])):
            self.stdout.write(statement)
