"""`manage.py release_restored`: lets effects start again in a database that was restored or copied."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs import models
from runs.transitions import restores
from runs.transitions.actor import Actor
from runs.transitions.refusals import Refused


class Command(BaseCommand):
    """Said by a person, with a reason, once the original is known to be out of service."""

    help = (
        "Let effects start again after the database was restored, copied or taken over. Make sure first that the "
        "original no longer runs. What was approved before is looked up, or a person is asked, before it is sent."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the command's options."""
        parser.add_argument("--by", required=True, metavar="USER", help="the administrator who says so")
        parser.add_argument(
            "--reason", required=True, help="why effects may start again; it stays in the record"
        )

    def handle(self, *args: object, by: str, reason: str, **options: object) -> None:
        """Release, or say in one sentence why not."""
        user = models.User.objects.filter(username=by).first()
        if user is None:
            raise CommandError(f"There is nobody named {by!r} here.")
        try:
            restores.release(reason=reason, by=Actor(user=user, channel="shell"))
        except Refused as error:
            raise CommandError(error.message) from error
        self.stdout.write("Released: effects may start again.")
