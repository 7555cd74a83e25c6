"""Tools that do nothing, so that only the engine is measured. Each receipt carries a payload of 1 kB."""

from __future__ import annotations

import time
from datetime import timedelta

from runs.tools import contract, registry
from tests.bench.payloads import payload


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
