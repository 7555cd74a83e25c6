"""`manage.py secrets`: lists, sets, removes and encrypts anew what tools get filled in; no value is an argument."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from runs import models
from runs.transitions import sealing, secrets
from runs.transitions.actor import Actor
from runs.transitions.refusals import Refused

Source = models.Secret.Source


class Command(BaseCommand):
    """Said by an administrator at the shell; each act is in the audit trail."""

    help = "Keep secrets that agents name as secret://NAME; the value is read from stdin or a file, never an argument."

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the four acts."""
        acts = parser.add_subparsers(dest="act", required=True)
        acts.add_parser("list", help="names, where from, key and uses; never a value")
        given = acts.add_parser(
            "set", help="set or change one; its value comes from stdin unless said otherwise"
        )
        given.add_argument("name")
        given.add_argument("--use", nargs=2, action="append", required=True, metavar=("AGENT", "TOOL[:ARGUMENT]"),
                           help="who may have it filled in where; * is every agent")  # fmt: skip
        place = given.add_mutually_exclusive_group()
        place.add_argument("--file", help="encrypt what stands in this file now")
        place.add_argument("--environment", metavar="VARIABLE", help="read it from the worker's environment")
        place.add_argument("--mounted", metavar="PATH", help="read it from this file at each use")
        removed = acts.add_parser("remove", help="forget one")
        removed.add_argument("name")
        rotated = acts.add_parser(
            "rotate", help="encrypt all anew under a new key, or the first of those given"
        )
        for each in (given, removed, rotated):
            each.add_argument("--by", required=True, metavar="USER", help="the administrator who does it")

    def handle(self, *args: object, act: str, **given: Any) -> None:
        """Do it, or say in one sentence why not."""
        if act == "list":
            self._list()
            return
        user = models.User.objects.filter(username=given["by"]).first()
        if user is None:
            raise CommandError(f"There is nobody named {given['by']!r} here.")
        by = Actor(user=user, channel="shell")
        try:
            if act == "set":
                self._set(given, by)
            elif act == "remove":
                secrets.remove(given["name"], by=by)
                self.stdout.write(f"Removed. Whatever names secret://{given['name']} is refused from now on.")
            else:
                self._rotate(by)
        except Refused as error:
            raise CommandError(error.message) from error
        except (sealing.NoKey, OSError, UnicodeDecodeError) as error:
            raise CommandError(str(error)) from error

    def _list(self) -> None:
        rows = models.Secret.objects.order_by("name")
        if not rows:
            self.stderr.write("No secret is kept.")
        for row in rows:
            where = f"{row.source} {row.place}".strip() + (f", key {row.key_id}" if row.key_id else "")
            last = f"last used {row.used_at:%Y-%m-%d %H:%M} UTC" if row.used_at else "not used yet"
            uses = "; ".join(f"{agent} in {tool}" for agent, tool in row.uses)
            self.stdout.write(f"secret://{row.name}  {where}  {uses}  {last}")

    def _set(self, given: dict[str, Any], by: Actor) -> None:
        value, source, place = None, Source.TABLE, ""
        if given["environment"]:
            source, place = Source.ENVIRONMENT, given["environment"]
        elif given["mounted"]:
            source, place = Source.FILE, given["mounted"]
        else:
            text = Path(given["file"]).read_text(encoding="utf-8") if given["file"] else sys.stdin.read()
            value = text.removesuffix("\n")
        uses = [(agent, tool) for agent, tool in given["use"]]
        row = secrets.set_secret(given["name"], value, uses=uses, by=by, source=source, place=place)
        where = "kept here, encrypted" if source == Source.TABLE else f"read from {row.source} {row.place}"
        self.stdout.write(f"Set: {row}, {where}.")

    def _rotate(self, by: Actor) -> None:
        count, made = secrets.rotate(by=by)
        key = "a new key" if made else "the first of CKPTSITE_SECRETS_KEYS"
        self.stdout.write(
            f"{count} encrypted anew under {key}; the older keys may go once no backup needs them."
        )
