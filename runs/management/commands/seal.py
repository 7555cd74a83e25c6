"""`manage.py seal --ended DAYS --by USER --reason TEXT`: seals what ended long ago, so that nothing goes on from it."""

from __future__ import annotations

import datetime
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs import models
from runs.transitions import clock_time, refusals, retention
from runs.transitions.actor import Actor


class Command(BaseCommand):
    """Seals one lineage in each commit: ended half-way, it goes on where it was when it is given again."""

    help = (
        "Seal every lineage whose runs all ended more than DAYS days ago: its record, effects and receipts stay, the "
        "search forgets its words, and nothing is re-driven, forked, retried or undone from it any more. There is no "
        "way back. What is left out is said with the reason."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the command's options."""
        parser.add_argument(
            "--ended",
            required=True,
            type=int,
            metavar="DAYS",
            help="days since its last run ended, at least 1",
        )
        parser.add_argument("--by", required=True, metavar="USER", help="the administrator who says so")
        parser.add_argument("--reason", required=True, help="why they are sealed; it stays in the record")
        parser.add_argument("--dry-run", action="store_true", help="only say what would be sealed")

    def handle(self, *args: object, by: str, reason: str, **options: Any) -> None:
        """Seal what may be, and say of the others why not."""
        user = models.User.objects.filter(username=by).first()
        if user is None:
            raise CommandError(f"There is nobody named {by!r} here.")
        if options["ended"] < 1:
            raise CommandError("A lineage has to have ended at least 1 day ago.")
        before = clock_time.now() - clock_time.seconds(options["ended"] * retention.DAY)
        actor, tries = Actor(user=user, channel="shell"), bool(options["dry_run"])
        done: set[int] = set()
        left = 0
        for root in retention.ended(before):
            why = retention.why_not(root, ended_before=before, beside=done if tries else ())
            if why is None and not tries:
                why = _sealed(root, reason, actor, before)
            if why is None:
                done.add(root)
            else:
                left += 1
            self.stdout.write(f"run {root}: {why or ('would be sealed' if tries else 'sealed')}")
        said = "would be sealed (nothing was changed)" if tries else "sealed"
        self.stdout.write(
            f"{len(done)} {'lineage' if len(done) == 1 else 'lineages'} {said}, {left} left out."
        )


def _sealed(root: int, reason: str, actor: Actor, before: datetime.datetime) -> str | None:
    """Seal one lineage; return why not, where something of it went on meanwhile."""
    try:
        retention.seal(root, reason=reason, by=actor, ended_before=before)
    except refusals.Stale as refusal:
        return refusal.message
    except refusals.Refused as refusal:
        raise CommandError(refusal.message) from refusal
    return None
