"""A world in memory for the state machine, and the tools that act on it: one for each protection."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar

from runs.tools import contract, registry

TIMEOUT, SETTLE, WINDOW = 30.0, 60.0, 24 * 3600.0
FAULTS = ("drop_before", "drop_after", "late", "error_after", "duplicate", "refused", "refused_again")


@dataclass
class World:
    """What really happened. It knows nothing of runs; a request that is late arrives before its settle time is over."""

    applied: list[tuple[str, str, int]] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    late: list[tuple[str, str, int, bool]] = field(default_factory=list)
    remembered: dict[str, float] = field(default_factory=dict)
    blind: bool = False
    balance: int = 0
    reads: int = 0
    time: float = 0.0

    def count(self, key: str) -> int:
        """Return how often the effect of this key stands."""
        return sum(known == key for _, known, _ in self.applied)

    def keys(self) -> dict[str, int]:
        """Return how often each key stands."""
        found: dict[str, int] = defaultdict(int)
        for _, key, _ in self.applied:
            found[key] += 1
        return found

    def pass_time(self, seconds: float) -> None:
        """Let time pass: what was under way arrives first, and keys are forgotten once their window is over."""
        for name, key, attempt, once in self.late:
            self.apply(name, key, attempt, once)
        self.late.clear()
        self.time += max(seconds, 0.0)
        self.remembered = {key: at for key, at in self.remembered.items() if self.time < at + WINDOW}

    def apply(self, name: str, key: str, attempt: int, once: bool) -> None:
        """Do it; a key that is remembered does nothing more."""
        if once and key in self.remembered:
            return
        self.remembered[key] = self.time
        self.applied.append((name, key, attempt))

    def request(self, name: str, key: str, attempt: int, once: bool) -> None:
        """Answer one request as the next fault says; return when it was done and said so."""
        fault = self.faults.pop(0) if self.faults else "none"
        match fault:
            case "refused" | "refused_again":
                raise contract.DidNotHappen("the world refused it", retryable=fault == "refused_again")
            case "drop_before":
                raise ConnectionError("no answer")
            case "late":
                self.late.append((name, key, attempt, once))
                raise TimeoutError("no answer in time")
            case "duplicate" if once:
                self.apply(name, key, attempt, once)
        self.apply(name, key, attempt, once)
        if fault in {"drop_after", "error_after"}:
            raise ConnectionError("no answer" if fault == "drop_after" else "500")


class Place:
    """Which world the tools act on."""

    world: ClassVar[World] = World()


class EffectArguments(contract.Arguments):
    """Which effect."""

    name: str


class _Effect(contract.Tool):
    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    identity: ClassVar[tuple[str, ...] | None] = ("name",)
    timeout = timedelta(seconds=TIMEOUT)
    settle = timedelta(seconds=SETTLE)
    key_window = timedelta(seconds=WINDOW)
    Arguments = EffectArguments

    def run(self, args: EffectArguments, ctx: contract.Context) -> contract.Receipt:
        if ctx.remaining() <= 0:
            raise contract.DidNotHappen("there was no time left to send it", retryable=True)
        once = self.protection == contract.Protection.IDEMPOTENT
        Place.world.request(args.name, ctx.idempotency_key, ctx.attempt, once)
        return contract.Receipt(summary=f"Did {args.name}.", value={"name": args.name})

    undo_protection = contract.Protection.LOOKUP

    def undo(
        self, args: EffectArguments, receipt: contract.Receipt, ctx: contract.Context
    ) -> contract.Receipt:
        Place.world.request(f"undo {args.name}", ctx.idempotency_key, ctx.attempt, once=False)
        return contract.Receipt(summary=f"Took {args.name} back.", value={"name": args.name})

    def undo_lookup(
        self, args: EffectArguments, receipt: contract.Receipt, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        return self.lookup(args, keys, ctx)

    def lookup(
        self, args: EffectArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        if Place.world.blind:
            raise ConnectionError("the look-up failed")
        if any(Place.world.count(key) for key in keys):
            return contract.Receipt(summary=f"Found {args.name}.", value={"name": args.name})
        return None


@registry.register
class Unprotected(_Effect):
    """Only a person can say."""

    name = "small.unprotected"


@registry.register
class Lookup(_Effect):
    """Can be looked up; its approval rests on the balance."""

    name = "small.lookup"
    protection = contract.Protection.LOOKUP

    def precondition(self, args: EffectArguments, ctx: contract.Context) -> dict[str, Any]:
        return {"balance": Place.world.balance}


@registry.register
class Idempotent(_Effect):
    """The same key does it once, as long as it is remembered."""

    name = "small.idempotent"
    protection = contract.Protection.IDEMPOTENT

    def preview(self, args: EffectArguments, ctx: contract.Context) -> contract.Preview:
        return contract.Preview(summary=f"Will do {args.name}.")


@registry.register
class Allowed(_Effect):
    """Nobody is asked."""

    name = "small.allowed"
    effect = contract.Effect.REVERSIBLE
    tier = 1
    protection = contract.Protection.LOOKUP


@registry.register
class Read(contract.Tool):
    """A read."""

    name = "small.read"
    effect = contract.Effect.READ
    Arguments = EffectArguments

    def run(self, args: EffectArguments, ctx: contract.Context) -> contract.Receipt:
        Place.world.reads += 1
        return contract.Receipt(summary=f"Read {args.name}.", value={"name": args.name})


KINDS = ("unprotected", "lookup", "idempotent", "allowed")
