"""`manage.py mcp`: asks the MCP servers what they offer, and accepts a tool at the shell."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs import models
from runs.mcp import kinds, looking, servers
from runs.transitions import mcp
from runs.transitions.actor import Actor
from runs.transitions.refusals import Refused


class Command(BaseCommand):
    """Reads the file that CKPTSITE_MCP names."""

    help = "Ask the MCP servers that CKPTSITE_MCP names what they offer, and accept tools for agents to call."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the three acts."""
        acts = parser.add_subparsers(dest="act", required=True)
        look = acts.add_parser(
            "look", help="ask what is offered now; what is new or changed has to be accepted"
        )
        look.add_argument("server", nargs="*", help="only these")
        acts.add_parser("list", help="what is known of their tools")
        accept = acts.add_parser("accept", help="let agents call a tool as it is described now")
        accept.add_argument("tool", nargs="+", help="mcp.SERVER.TOOL")
        accept.add_argument("--by", required=True, metavar="USER", help="the administrator who does it")

    def handle(self, *args: object, act: str, **given: Any) -> None:
        """Do it, or say in one sentence why not."""
        try:
            every = servers.everything()
        except servers.BadServers as error:
            raise CommandError(f"The file of MCP servers can't be used: {error}") from error
        if act == "look":
            self._look(every, given["server"])
        elif act == "list":
            self._list()
        else:
            self._accept(given["tool"], given["by"])

    def _look(self, every: dict[str, servers.Server], named: list[str]) -> None:
        if not every:
            raise CommandError("There is no MCP server; name a file of them in CKPTSITE_MCP.")
        if unknown := sorted(set(named) - every.keys()):
            raise CommandError(f"There is no MCP server {unknown[0]!r}; there is {', '.join(every)}.")
        failed = []
        for name in named or every:
            try:
                count, waiting = looking.ask(name, by=Actor(user=None, channel="shell"))
            except looking.NotAsked as error:
                failed.append(name)
                self.stderr.write(f"{name}: {error}")
                continue
            self.stdout.write(f"{name}: {count} offered, {len(waiting)} to be accepted.")
            for row in waiting:
                self.stdout.write(f"  {kinds.full_name(row.server, row.name)}")
        if failed:
            raise CommandError(f"{len(failed)} could not be asked.")

    def _list(self) -> None:
        for row in models.McpTool.objects.order_by("server", "name", "number"):
            state = "accepted" if row.accepted_at else "to be accepted"
            offered = state if row.offered else "not offered any more"
            self.stdout.write(f"{kinds.full_name(row.server, row.name)} {row.number}: {offered}")

    def _accept(self, names: list[str], by: str) -> None:
        user = models.User.objects.filter(username=by).first()
        if user is None:
            raise CommandError(f"There is nobody named {by!r} here.")
        for name in names:
            server, _, tool = name.removeprefix(kinds.PREFIX).partition(".")
            row = models.McpTool.objects.filter(server=server, name=tool, offered=True).first()
            if row is None:
                raise CommandError(f"No MCP server offers {name!r}, as far as was looked.")
            try:
                mcp.accept(row.pk, digest=row.digest, by=Actor(user=user, channel="shell"))
            except Refused as refusal:
                raise CommandError(refusal.message) from refusal
            self.stdout.write(f"{name}: accepted as it is described now.")
