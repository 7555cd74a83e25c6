"""An effect that nobody can ask about afterwards: a line on a wire. And a read that takes as long as a test wants."""

from __future__ import annotations

import os
import time
from datetime import timedelta
from pathlib import Path

from django.conf import settings

from runs.tools import contract, registry


def wire() -> Path:
    """Where the world is."""
    return Path(settings.CKPTSITE_DATA) / "wire.txt"


def transmit(text: str) -> None:
    """Do it once more."""
    with wire().open("a", encoding="utf-8") as out:
        out.write(f"{text}\n")
        out.flush()
        os.fsync(out.fileno())


class WireArguments(contract.Arguments):
    """What is sent."""

    text: str


@registry.register
class Wire(contract.Tool):
    """Send a line; no key, no look-up."""

    name = "kills.wire"
    title = "Send a line"
    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    timeout = timedelta(seconds=3)
    settle = timedelta(seconds=0.5)
    identity = ("text",)
    Arguments = WireArguments

    def run(self, args: WireArguments, ctx: contract.Context) -> contract.Receipt:
        """Send it."""
        transmit(args.text)
        return contract.Receipt(summary="Sent.", value={"text": args.text})


def slow() -> Path:
    """While this file is there, a read that has begun goes on."""
    return Path(settings.CKPTSITE_DATA) / "slow"


@registry.register
class Read(contract.Tool):
    """Read a line."""

    name = "kills.read"
    title = "Read a line"
    effect = contract.Effect.READ
    timeout = timedelta(seconds=60)
    Arguments = WireArguments

    def run(self, args: WireArguments, ctx: contract.Context) -> contract.Receipt:
        """Read it, again and again while it is slow."""
        slow().with_name(f"reading {args.text}").touch()
        while slow().exists() and ctx.remaining() > 0:
            time.sleep(0.02)  # it stands for a slow read, which nothing wakes
        return contract.Receipt(summary="Read.", value={"text": args.text})
