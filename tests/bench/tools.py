"""Tools that do nothing, so that only the engine is measured. Each receipt carries a payload of 1 kB."""

from __future__ import annotations

import random
import string
import time
import zlib
from datetime import timedelta

from runs.tools import contract, registry

PAYLOAD = 1000
_POOL = "".join(random.Random(1).choices(string.ascii_letters, k=200_000))


def payload(name: str) -> str:
    """Return 1,000 characters that hardly compress; the same for the same name."""
    start = zlib.crc32(name.encode()) % (len(_POOL) - PAYLOAD)
    return _POOL[start : start + PAYLOAD]


class NamedArguments(contract.Arguments):
    """What it is about."""

    name: str


class Named(contract.Tool):
    """Common to the tools below."""

    Arguments = NamedArguments

    def run(self, args: NamedArguments, ctx: contract.Context) -> contract.Receipt:
        """Do nothing."""
        return contract.Receipt(summary="Done.", value={"text": payload(args.name)})


@registry.register
class Look(Named):
    """A read."""

    name = "bench.look"
    effect = contract.Effect.READ


@registry.register
class Note(Named):
    """An effect that policy lets through."""

    name = "bench.note"
    effect = contract.Effect.REVERSIBLE
    identity = ("name",)


@registry.register
class Send(Named):
    """An effect that a person releases."""

    name = "bench.send"
    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    identity = ("name",)


@registry.register
class Hang(Named):
    """An effect that is still under way when its worker is killed."""

    name = "bench.hang"
    effect = contract.Effect.REVERSIBLE
    identity = ("name",)
    timeout = timedelta(seconds=3)
    settle = timedelta(seconds=1)

    def run(self, args: NamedArguments, ctx: contract.Context) -> contract.Receipt:
        """Wait for longer than this worker lives."""
        time.sleep(60)
        raise RuntimeError("Nobody killed the worker.")
