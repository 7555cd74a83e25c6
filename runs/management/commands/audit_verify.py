"""`manage.py audit_verify`: proves that log, projections and audit chain agree."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs.engine import heads, verifier


class Command(BaseCommand):
    """Recomputes every chain; exit code 1 and the first bad row otherwise."""

    help = "Recompute the audit chain and every run's log; exit 1 with the first bad row if anything differs."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take a file of heads that were kept elsewhere."""
        parser.add_argument(
            "--head",
            type=Path,
            metavar="FILE",
            help="heads of the audit chain as the clock writes them (CKPTSITE_AUDIT_HEADS), kept on another machine; "
            "what came before the last of them can't have been cut off or rewritten",
        )
        parser.add_argument(
            "--erased",
            action="store_true",
            help="list the runs of which something was erased, and where it is told",
        )

    def handle(self, *args: object, **options: Any) -> None:
        """Verify everything, and say how much was read."""
        kept: dict[int, str] = {}
        try:
            if options["head"] is not None:
                kept = heads.read(options["head"])
            found = verifier.verify(kept)
        except (verifier.Broken, heads.BadFile, OSError) as error:
            raise CommandError(str(error)) from error
        gone = Counter(part for parts in found.erased.values() for part in parts)
        if options["erased"]:
            for run, parts in found.erased.items():
                for part, row in parts.items():
                    self.stdout.write(
                        f"run {run}: {part} erased, {row.content['position']} log lines up to head "
                        f"{row.content['head']}, told in audit event {row.told}"
                    )
        self.stdout.write(
            f"Verified: {found.events} audit events (head {found.head[:16]}), "
            f"{found.runs} runs, {found.entries} log entries."
            + (f" Sealed lineages: {found.sealed}." if found.sealed else "")
            + (f" Erased by policy, and told of: {_counted(gone)}." if gone else "")
            + (f" It goes on from each head in {options['head']}." if kept else "")
        )


def _counted(gone: Counter[str]) -> str:
    return ", ".join(
        f"the {part} of {count} {'run' if count == 1 else 'runs'}" for part, count in gone.items()
    )
