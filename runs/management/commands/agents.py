"""`manage.py agents`: agents as YAML files, to be reviewed like code."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs import agent_files, models
from runs.transitions import agents
from runs.transitions.actor import Actor
from runs.transitions.refusals import Refused


class Command(BaseCommand):
    """Checks, applies and exports them."""

    help = "Check agents that are written as YAML files, put them in use, and write those that are here."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the three acts."""
        acts = parser.add_subparsers(dest="act", required=True)
        check = acts.add_parser("check", help="say what doesn't fit, with its line; nothing is kept")
        apply = acts.add_parser("apply", help="keep what is new or changed, and put it in use")
        apply.add_argument("--by", required=True, metavar="USER", help="the administrator who does it")
        apply.add_argument("--reason", required=True, help="why; it stands in the audit trail")
        for each in (check, apply):
            each.add_argument("file", nargs="+")
        acts.add_parser("schema", help="write the JSON Schema of such files, for editors")
        export = acts.add_parser("export", help="write an agent as a file, to the standard output")
        export.add_argument("name")
        export.add_argument("--version", dest="number", type=int, default=0, help="not the one in use")

    def handle(self, *args: object, act: str, **given: Any) -> None:
        """Do it, or say in one sentence why not."""
        if act == "schema":
            self.stdout.write(json.dumps(agent_files.schema(), indent=2))
            return
        if act == "export":
            self._export(given["name"], given["number"])
            return
        found, failed = [], 0
        for name in given["file"]:
            try:
                found.append(agent_files.read(Path(name).read_text(encoding="utf-8")))
            except agent_files.BadAgent as error:
                failed += 1
                self.stderr.write(f"{name}: {error}")
            except (OSError, UnicodeDecodeError) as error:
                failed += 1
                self.stderr.write(f"{name}: it can't be read: {error}.")
        if failed:
            raise CommandError(f"{failed} of {len(given['file'])} files can't be used; nothing was kept.")
        if act == "check":
            self.stdout.write(f"{len(found)} can be used.")
            return
        user = models.User.objects.filter(username=given["by"]).first()
        if user is None:
            raise CommandError(f"There is nobody named {given['by']!r} here.")
        for agent in found:
            self._apply(agent, reason=given["reason"], by=Actor(user=user, channel="shell"))

    def _apply(self, agent: Any, *, reason: str, by: Actor) -> None:
        row = models.Agent.objects.filter(name=agent.name).select_related("current__agent").first()
        if row is not None and row.current is not None and row.current.declared() == agent:
            self.stdout.write(f"{agent.name}: version {row.current.number} is this one already.")
            return
        newest = row.versions.order_by("-number").first() if row is not None else None
        try:
            version = agents.save(agent, base=newest.number if newest else 0, reason=reason, use=True, by=by)
        except Refused as refusal:
            raise CommandError(f"{agent.name}: {refusal.message}") from refusal
        self.stdout.write(f"{agent.name}: version {version.number} is in use.")

    def _export(self, name: str, number: int) -> None:
        row = models.Agent.objects.filter(name=name).select_related("current__agent").first()
        version = row.current if row is not None and not number else None
        if row is not None and number:
            version = row.versions.filter(number=number).select_related("agent").first()
        if version is None:
            raise CommandError(
                f"There is no {f'version {number} of an ' if number else ''}agent named {name!r}."
            )
        self.stdout.write(agent_files.write(version.declared()), ending="")
