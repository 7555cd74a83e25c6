"""Tools that act on the harness's world, one for each protection."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, ClassVar

from runs import exact, points
from runs.providers import contract as providing
from runs.providers import playbook
from runs.providers import registry as providers
from runs.tools import contract, registry
from tests.harness import world

SOCKET = "CKPTSITE_HARNESS_WORLD"
TIMEOUT = 0.8 * world.PACE
SETTLE = 0.6 * world.PACE
WINDOW = 3600.0
COSTS = providing.Usage(tokens_in=20, tokens_out=5)
SENT = "wire.sent"
"""The point at which a request is on its way, and no answer has come."""


class EffectArguments(contract.Arguments):
    """Which effect, and in which words."""

    name: str
    note: str = "as planned"


class _Effect(contract.Tool):
    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    identity: ClassVar[tuple[str, ...] | None] = ("name",)
    decisive = ("name",)
    timeout = timedelta(seconds=TIMEOUT)
    settle = timedelta(seconds=SETTLE)
    key_window = timedelta(seconds=WINDOW)
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
            "window": WINDOW,
            "digest": exact.digest_of(args.model_dump(mode="json")),
        }
        answer = world.ask(os.environ[SOCKET], request, timeout=left, sent=lambda: points.reach(SENT))
        if "refused" in answer:
            raise contract.DidNotHappen("the world refused it", retryable=answer.get("again", False))
        if "error" in answer:
            raise RuntimeError(f"the world answered {answer['error']}")
        made = ctx.attach(f"{args.name}.txt", f"{args.name} by {ctx.idempotency_key}".encode())
        return contract.Receipt(
            summary=f"Did {args.name}.", value={"name": args.name, "file": made.model_dump()}
        )

    def preview(self, args: Any, ctx: contract.Context) -> contract.Preview:
        return contract.Preview(summary=f"Will do {args.name}.", target=args.name)


@registry.register
class Bare(_Effect):
    """Only a person can say; the world is read again right before acting."""

    name = "harness.unprotected"

    def precondition(self, args: Any, ctx: contract.Context) -> dict[str, Any]:
        return {"the world": "as it was"}


@registry.register
class Look(_Effect):
    """Can be looked up by key."""

    name = "harness.lookup"
    protection = contract.Protection.LOOKUP

    def lookup(self, args: Any, keys: Sequence[str], ctx: contract.Context) -> contract.Receipt | None:
        request = {"op": "look", "name": args.name, "keys": list(keys)}
        answer = world.ask(os.environ[SOCKET], request, timeout=ctx.remaining())
        if "error" in answer:
            raise RuntimeError(answer["error"])
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
    """Looks at something; the world counts how often."""

    name = "harness.read"
    effect = contract.Effect.READ
    Arguments = EffectArguments

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        request = {"op": "read", "name": args.name, "pid": os.getpid()}
        answer = world.ask(os.environ[SOCKET], request, timeout=ctx.remaining())
        if "refused" in answer:
            raise contract.DidNotHappen("there is nothing to read")
        made = ctx.attach(f"{args.name}.txt", f"{answer['value']} of {args.name}".encode())
        return contract.Receipt(
            summary=f"Read {args.name}.", value={"found": answer["value"], "file": made.model_dump()}
        )


class Paid(playbook.Playbook):
    """A playbook whose every reply costs something, so that what a lost one may have cost has to be booked."""

    name = "paid"
    local = False  # what is paid for is asked of somebody else

    def estimate(self, request: providing.Request) -> providing.Usage:
        return COSTS

    def complete(self, request: providing.Request, *, timeout: float) -> providing.Reply:
        return replace(super().complete(request, timeout=timeout), usage=COSTS)


providers._PROVIDERS[Paid.name] = Paid()
