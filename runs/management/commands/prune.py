"""`manage.py prune [--dry-run] [--json]`: erases what is kept no longer, by the policy of the installation."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import ProgrammingError

from runs import models
from runs.engine import pruning
from runs.transitions import retention

Part = models.Tombstone.Part


class Command(BaseCommand):
    """Erases a few rows in each commit: ended half-way, it goes on where it was when it is given again."""

    help = (
        "Erase of each lineage that ended long ago what is kept no longer: its contents after CKPTSITE_KEEP_PAYLOADS "
        "days, its log after CKPTSITE_KEEP_TIMELINE days, its effects after CKPTSITE_KEEP_RECEIPTS days. It is sealed, "
        "verified, and told of in the audit chain first; tombstones stay. Needs the role that owns the tables."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the command's options."""
        parser.add_argument("--dry-run", action="store_true", help="only say what would be erased")
        parser.add_argument("--json", action="store_true", help="say it as one JSON object")

    def handle(self, *args: object, **options: Any) -> None:
        """Erase what may be, and say by part and agent how much it was, and what was left out and why."""
        days = {part: retention.days(part) for part in Part.values}
        tries = bool(options["dry_run"])
        try:
            report = pruning.prune(dry_run=tries)
        except ProgrammingError as error:
            raise CommandError(f"The database refuses: {error}".strip()) from error
        gone: list[dict[str, Any]] = [
            {"part": part, "agent": agent, **counted}
            for (part, agent), counted in sorted(report.gone.items(), key=lambda one: _order(*one[0]))
        ]
        if options["json"]:
            left = [{"run": root, "why": why} for root, why in report.why]
            said = {"dry_run": tries, "days": days, "sealed": report.sealed, "erased": gone}
            self.stdout.write(json.dumps(said | {"left_out": report.left, "left": left}))
            return
        if not any(days.values()):
            self.stdout.write("Everything is kept for ever: no CKPTSITE_KEEP_... is set.")
            return
        for row in gone:
            what = (
                f"{row['effects']:,} effects"
                if row["part"] == Part.RECEIPTS
                else f"{row['lines']:,} log lines"
            )
            self.stdout.write(
                f"{row['part']} after {days[row['part']]} days, {row['agent']}: {_count(row['lineages'])} with "
                f"{row['runs']:,} runs, {what}, {row['bytes']:,} bytes"
            )
        for root, why in report.why:
            self.stdout.write(f"run {root} is left out: {why}")
        total = sum(row["lineages"] for row in gone)
        done = f"would be erased (nothing was changed): {total}" if tries else f"erased: {total}"
        sealed = f"{'To be sealed' if tries else 'Sealed'}: {report.sealed}"
        self.stdout.write(f"Parts of lineages {done}. {sealed}. Left out: {report.left}.")


def _order(part: str, agent: str) -> tuple[int, str]:
    return Part.values.index(part), agent


def _count(number: int) -> str:
    return f"{number:,} {'lineage' if number == 1 else 'lineages'}"
