"""`manage.py separate RUN --checkpoint N --reason WHY`: begins work of its own after a list was seen."""

from __future__ import annotations

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs import inputs
from runs.management.commands.redrive import add_common, corrected, run_of
from runs.transitions import branches, refusals
from runs.transitions.actor import Actor


class Command(BaseCommand):
    """Lists what was done before and won't count as done; with `--seen` it begins a lineage of its own."""

    help = "Begin separate work from a checkpoint of RUN. Without --seen, list what it would not know to be done."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the command's options."""
        add_common(parser)
        parser.add_argument("--seen", metavar="LIST", help="the name of the list that was printed and read")

    def handle(self, *args: object, **options: object) -> None:
        """Print the list, or begin the work and print its address; or say in one sentence why not."""
        try:
            old, checkpoint = run_of(options), int(str(options["checkpoint"]))
            if not options["seen"]:
                self._list(branches.earlier_effects(old.pk))
                return
            run = branches.separate(
                old.pk,
                checkpoint=checkpoint,
                reason=str(options["reason"]),
                acknowledged=str(options["seen"]),
                input=corrected(old, checkpoint, options),
                by=Actor(user=inputs.starter(str(options["by"])), channel="shell"),
                token=inputs.new_token(),
            )
        except (refusals.Refused, inputs.BadInput) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(inputs.address(run))

    def _list(self, earlier: branches.Earlier) -> None:
        for row in earlier.occurrences:
            what = (row.owner.preview or {}).get("summary") or row.tool
            self.stdout.write(f"run {row.owner.run_id}: {what} ({row.state})")
        self.stdout.write(
            "None of this counts as done for separate work; what is proposed again is done again."
        )
        self.stdout.write(f"When you have read it: --seen {earlier.digest}")
