"""An effect that nobody can ask about afterwards: a line on a wire."""

from __future__ import annotations

import os
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
