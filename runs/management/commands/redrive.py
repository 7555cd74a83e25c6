"""`manage.py redrive RUN --checkpoint N --reason WHY`: goes on from a checkpoint in the current attempt's place."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs import exact, inputs, lifecycle, models
from runs.engine import advance
from runs.forms import amounts
from runs.measures import Measure
from runs.models import paths
from runs.transitions import branches, holds, plan_edits, redrives, refusals
from runs.transitions.actor import Actor

LIMITS = {"turns": Measure.STEPS, "calls": Measure.CALLS, "tokens": Measure.TOKENS, "dollars": Measure.COST,
          "seconds": Measure.SECONDS}  # fmt: skip
UNTIL_IT_RESTS = 60.0
"""Seconds for the old attempt to end and the new one to come to rest, so that its plan can be changed."""


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
    parser.add_argument("--reason", default="", metavar="WHY", help="why; it stays in the record")
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

    help = "Go on from a checkpoint of RUN, with what was wrong corrected, and print the new run's address."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the command's options."""
        add_common(parser)
        parser.add_argument(
            "--instructions", metavar="FILE", help="other instructions for this attempt alone"
        )
        parser.add_argument(
            "--plan",
            metavar="FILE",
            help="the whole plan as JSON, as the plan page shows it; saved before it goes on",
        )
        parser.add_argument(
            "--raise", action="append", default=[], metavar="LIMIT=AMOUNT", dest="raises",
            help=f"raise a limit of the lineage by so much; limits are {', '.join(LIMITS)}",
        )  # fmt: skip
        for name, what in (
            ("--again", "may happen once more, after a review"),
            ("--undo-first", "is taken back first"),
        ):
            parser.add_argument(
                name, action="append", type=int, default=[], metavar="EFFECT",
                help=f"number of an earlier effect that {what}",
            )  # fmt: skip
        parser.add_argument(
            "--try-out",
            action="store_true",
            help="a dry run beside it: effects are simulated, nothing goes out; needs no reason",
        )

    def handle(self, *args: object, **options: Any) -> None:
        """Make it, or say in one sentence why not."""
        try:
            run = self._made(options)
        except (refusals.Refused, inputs.BadInput) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(inputs.address(run))

    def _made(self, options: Mapping[str, Any]) -> models.Run:
        old, checkpoint = run_of(options), int(options["checkpoint"])
        by, token = Actor(user=inputs.starter(options["by"]), channel="shell"), inputs.new_token()
        given = corrected(old, checkpoint, options)
        told = _text(options["instructions"]) if options["instructions"] else None
        if options["try_out"]:
            if any(options[name] for name in ("plan", "again", "undo_first", "raises")):
                raise inputs.BadInput(
                    "A dry run does nothing and takes plan and limits as they are: "
                    "--plan, --raise, --again and --undo-first don't go with --try-out."
                )
            return branches.fork(
                old.pk, checkpoint=checkpoint, reason=options["reason"], input=given, instructions=told, by=by,
                token=token,
            )  # fmt: skip
        steps = _steps(old, options["plan"]) if options["plan"] else None
        new = redrives.redrive(
            old.pk,
            checkpoint=checkpoint,
            reason=options["reason"],
            input=given,
            instructions=told,
            dispositions=_dispositions(options["again"], options["undo_first"]),
            raises=dict(_raised(text) for text in options["raises"]),
            hold=steps is not None,
            by=by,
            token=token,
        )
        if steps is not None:
            _change_plan(new, steps, reason=options["reason"], by=by)
        return new


def _text(path: str) -> str:
    """Return a file's text; refuse (BadInput) one that can't be read or isn't text."""
    _, content = inputs.content(Path(path))
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise inputs.BadInput(f"The file {path!r} isn't text in UTF-8.") from error


def _steps(old: models.Run, path: str) -> Any:
    """Return the steps of a plan file; refuse (BadInput, Invalid) what is no plan for this agent."""
    try:
        steps = exact.parse(_text(path))
    except exact.NotExact as error:
        raise inputs.BadInput(f"The plan {path!r}: {error}") from error
    plan_edits.checked(old, steps)
    return steps


def _dispositions(again: list[int], undo_first: list[int]) -> dict[int, str]:
    both = sorted(set(again) & set(undo_first))
    if both:
        raise inputs.BadInput(
            f"The effect {both[0]} can't be both: say --again or --undo-first; what is taken back is done again anyway."
        )
    return dict.fromkeys(again, redrives.AGAIN) | dict.fromkeys(undo_first, redrives.UNDO_FIRST)


def _raised(text: str) -> tuple[str, int]:
    """Return the measure and the amount of LIMIT=AMOUNT; refuse (BadInput) anything else."""
    name, _, typed = text.partition("=")
    if name not in LIMITS:
        raise inputs.BadInput(f"There is no limit named {name!r}; there are {', '.join(LIMITS)}.")
    amount = amounts.read(typed, measure=LIMITS[name])
    if amount is None:
        raise inputs.BadInput(f"{text!r}: {amounts.wanted(LIMITS[name])}")
    return str(LIMITS[name]), amount


def _change_plan(new: models.Run, steps: Any, *, reason: str, by: Actor) -> None:
    """Save the plan of the new attempt as soon as it rests, as its page would, and let it go on."""
    try:
        _rest(new)
        edit = plan_edits.Edit(base=new.plan_version, steps=steps, reason=reason)
        plan_edits.save(new.pk, edit, by=by)
    except (refusals.Refused, inputs.BadInput) as error:
        raise inputs.BadInput(
            f"{error} Run {new.pk} is made and rests with the plan as it was: {inputs.address(new)}"
        ) from error
    holds.resume(new.pk, by=by)


def _rest(new: models.Run) -> None:
    """Bring the held attempt to rest, here where no worker does; refuse (BadInput) one that waits for too long."""
    end = time.monotonic() + UNTIL_IT_RESTS
    while new.status != lifecycle.Run.PAUSED:
        if time.monotonic() > end:
            raise inputs.BadInput("It can't rest before the attempt whose place it takes has ended.")
        for run_id in (*models.Run.objects.filter(superseded_by=new).values_list("pk", flat=True), new.pk):
            advance.advance(run_id)
        new.refresh_from_db()
        if new.status != lifecycle.Run.PAUSED:
            time.sleep(0.1)
