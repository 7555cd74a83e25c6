"""`manage.py redrive RUN --checkpoint N --reason WHY`: goes on from a checkpoint in the current attempt's place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs import inputs, models
from runs.models import paths
from runs.transitions import branches, redrives, refusals
from runs.transitions.actor import Actor


def corrected(old: models.Run, checkpoint: int, options: Mapping[str, object]) -> Mapping[str, Any] | None:
    """Return the input at the checkpoint with what the options say otherwise, or None where they say nothing."""
    agent = old.agent_version.agent
    pairs = options["set"] if isinstance(options["set"], list) else []
    values = dict(inputs.pair(text) for text in pairs)
    path = Path(str(options["input"])) if options["input"] else None
    files = {inputs.file_field(agent): inputs.content(path)} if path else {}
    before = paths.input_at(old, checkpoint)
    return inputs.correct(old.agent_version, before, values, files) if values or files else None


def run_of(options: Mapping[str, object]) -> models.Run:
    """Return the run that the options name; refuse BadInput where there is none."""
    number = int(str(options["run"]))
    old = models.Run.objects.select_related("agent_version__agent__current").filter(pk=number).first()
    if old is None:
        raise inputs.BadInput(f"There is no run {number}.")
    return old


def add_common(parser: CommandParser) -> None:
    """Add what each way to go on from a checkpoint takes."""
    parser.add_argument("run", type=int, help="number of the run whose checkpoint it goes on from")
    parser.add_argument("--checkpoint", type=int, required=True, metavar="N", help="number of the checkpoint")
    parser.add_argument("--reason", required=True, help="why; it stays in the record")
    parser.add_argument(
        "--input", metavar="FILE", help="another file for it to work on, if its agent takes one"
    )
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a corrected input value"
    )
    parser.add_argument(
        "--by", default="", metavar="USER", help="who does it (default: the first operator or administrator)"
    )


class Command(BaseCommand):
    """Makes a new attempt of a run, or tries one out, from the shell."""

    help = "Go on from a checkpoint of RUN, with its input corrected, and print the new run's address."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the command's options."""
        add_common(parser)
        parser.add_argument(
            "--again",
            action="append",
            type=int,
            default=[],
            metavar="EFFECT",
            help="number of an earlier effect that may happen once more, after a review",
        )
        parser.add_argument(
            "--try-out",
            action="store_true",
            help="a dry run beside it: effects are simulated, nothing goes out",
        )

    def handle(self, *args: object, **options: object) -> None:
        """Make it, or say in one sentence why not."""
        try:
            run = self._made(options)
        except (refusals.Refused, inputs.BadInput) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(inputs.address(run))

    def _made(self, options: dict[str, object]) -> models.Run:
        old, checkpoint = run_of(options), int(str(options["checkpoint"]))
        given = corrected(old, checkpoint, options)
        reason, token = str(options["reason"]), inputs.new_token()
        by = Actor(user=inputs.starter(str(options["by"])), channel="shell")
        if options["try_out"]:
            return branches.fork(
                old.pk, checkpoint=checkpoint, reason=reason, input=given, by=by, token=token
            )
        again = options["again"] if isinstance(options["again"], list) else []
        return redrives.redrive(
            old.pk,
            checkpoint=checkpoint,
            reason=reason,
            input=given,
            dispositions=dict.fromkeys(again, redrives.AGAIN),
            by=by,
            token=token,
        )
