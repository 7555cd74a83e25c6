"""Tools that act on the harness's world, one for each protection."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import Any, ClassVar

from runs.tools import contract, registry
from tests.harness import world

SOCKET = "CKPTSITE_HARNESS_WORLD"


class EffectArguments(contract.Arguments):
    """Which effect."""

    name: str


class _Effect(contract.Tool):
    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    identity: ClassVar[tuple[str, ...] | None] = ("name",)
    decisive = ("name",)
    timeout = timedelta(seconds=0.4)
    settle = timedelta(seconds=0.3)
    Arguments = EffectArguments

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        left = ctx.remaining()
        if left <= 0:
            raise contract.DidNotHappen("there was no time left to send it", retryable=True)
        request = {
            "op": "do",
            "name": args.name,
            "key": ctx.idempotency_key,
            "protection": str(self.protection),
        }
        answer = world.ask(os.environ[SOCKET], request, timeout=left)
        if "refused" in answer:
            raise contract.DidNotHappen("the world refused it")
        if "error" in answer:
            raise RuntimeError(f"the world answered {answer['error']}")
        return contract.Receipt(summary=f"Did {args.name}.", value={"name": args.name})


@registry.register
class Bare(_Effect):
    """Only a person can say."""

    name = "harness.unprotected"


@registry.register
class Look(_Effect):
    """Can be looked up by key."""

    name = "harness.lookup"
    protection = contract.Protection.LOOKUP

    def lookup(self, args: Any, keys: Sequence[str], ctx: contract.Context) -> contract.Receipt | None:
        for key in keys:
            answer = world.ask(os.environ[SOCKET], {"op": "look", "name": args.name, "key": key}, timeout=1)
            if answer["found"]:
                return contract.Receipt(summary=f"Found {args.name}.", value={"name": args.name})
        return None


@registry.register
class Idempotent(_Effect):
    """The same key does it once."""

    name = "harness.idempotent"
    protection = contract.Protection.IDEMPOTENT


@registry.register
class Read(contract.Tool):
    """Looks at something, and counts how often it did."""

    name = "harness.read"
    effect = contract.Effect.READ
    Arguments = EffectArguments

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        return contract.Receipt(summary=f"Read {args.name}.", value={"name": args.name})
