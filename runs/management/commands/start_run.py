"""`manage.py start_run AGENT --input FILE`: starts a run and prints its address."""

from __future__ import annotations

from pathlib import Path

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs import inputs, labelling, models
from runs.transitions import refusals, starts
from runs.transitions.actor import Actor


class Command(BaseCommand):
    """Starts one run from the shell."""

    help = "Start a run of AGENT on an input file and print its address."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the command's options."""
        parser.add_argument("agent", help="name of the agent, for example receivables")
        parser.add_argument(
            "--input", metavar="FILE", help="the file that the agent works on, if it takes one"
        )
        parser.add_argument(
            "--set", action="append", default=[], metavar="NAME=VALUE", help="another input value"
        )
        parser.add_argument(
            "--label",
            action="append",
            default=[],
            metavar="NAME=VALUE",
            help="what tells this run apart; policies can match on it",
        )
        parser.add_argument("--title", default="", help="what this run is about")
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="only say what it would do and whom it would ask: it reads for real, and nothing goes out",
        )
        parser.add_argument(
            "--user", default="", help="who starts it (default: the first operator or administrator)"
        )

    def handle(self, *args: object, **options: object) -> None:
        """Start it, or say in one sentence why not."""
        try:
            run = self._start(options)
        except (refusals.Refused, inputs.BadInput, labelling.BadLabels) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(inputs.address(run))
        if not options["user"] and run.created_by is not None:
            self.stderr.write(
                f"Started in the name of {run.created_by.get_username()}; --user names another."
            )

    def _start(self, options: dict[str, object]) -> models.Run:
        agent = inputs.agent(str(options["agent"]))
        pairs = options["set"] if isinstance(options["set"], list) else []
        values = dict(inputs.pair(text) for text in pairs)
        labels = options["label"] if isinstance(options["label"], list) else []
        path = Path(str(options["input"])) if options["input"] else None
        files = {inputs.file_field(agent): inputs.content(path)} if path else {}
        given = inputs.collect(agent, values, files)
        user = inputs.starter(str(options["user"]))
        return starts.start_run(
            agent.name,
            input=given,
            title=str(options["title"]) or (f"{agent.title}: {path.name}" if path else agent.title),
            by=Actor(user=user, channel="shell"),
            token=inputs.new_token(),
            mode=models.Run.Mode.DRY_RUN if options["dry_run"] else models.Run.Mode.LIVE,
            labels=labelling.of(labels),
        )
