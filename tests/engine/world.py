"""A world outside: a file that each effect appends one line to, and tools of every protection that write to it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from runs.tools import contract, registry


class World:
    """Counts effects from outside; `before` and `after` run around the write, to fail or to die there."""

    path: ClassVar[Path]
    before: ClassVar[Callable[[], None] | None] = None
    after: ClassVar[Callable[[], None] | None] = None
    absent: ClassVar[str] = ""

    @classmethod
    def reset(cls, path: Path) -> None:
        """Begin with an empty world in `path`."""
        cls.path, cls.before, cls.after, cls.absent = path, None, None, ""
        path.write_text("")

    @classmethod
    def write(cls, name: str, key: str) -> None:
        """Do the effect once more."""
        if cls.before is not None:
            cls.before()
        with cls.path.open("a") as out:
            out.write(json.dumps({"name": name, "key": key}) + "\n")
            out.flush()
            os.fsync(out.fileno())
        if cls.after is not None:
            cls.after()

    @classmethod
    def refuse(cls) -> None:
        """Prove that nothing happens, where `absent` says why."""
        if cls.absent:
            raise contract.DidNotHappen(
                cls.absent, retryable=cls.absent.startswith("again"), key_used="under its key" in cls.absent
            )

    @classmethod
    def effects(cls, name: str = "") -> list[dict[str, str]]:
        """Return what the world holds."""
        lines = [json.loads(line) for line in cls.path.read_text().splitlines()]
        return [line for line in lines if not name or line["name"] == name]


class EffectArguments(contract.Arguments):
    """What is done, to whom."""

    name: str
    note: str = ""
    amount: str = "1.00"


class Effect(contract.Tool):
    """Common to the effects below."""

    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    identity: ClassVar[tuple[str, ...] | None] = ("name",)
    decisive: ClassVar[tuple[str, ...]] = ("name",)
    timeout = timedelta(seconds=2)
    settle = timedelta(seconds=0.5)
    Arguments = EffectArguments

    def run(self, args: EffectArguments, ctx: contract.Context) -> contract.Receipt:
        World.refuse()
        World.write(args.name, ctx.idempotency_key)
        return contract.Receipt(summary=f"Did {args.name}.", value={"name": args.name})

    def preview(self, args: EffectArguments, ctx: contract.Context) -> contract.Preview:
        return contract.Preview(summary=f"Will do {args.name}.", target=args.name)


@registry.register
class Unprotected(Effect):
    """Only a person can say whether it happened."""

    name = "world.unprotected"


@registry.register
class Lookup(Effect):
    """The world can be asked by key."""

    name = "world.lookup"
    protection = contract.Protection.LOOKUP

    def lookup(
        self, args: EffectArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        if any(line["key"] in keys for line in World.effects(args.name)):
            return contract.Receipt(summary=f"Found {args.name}.", value={"name": args.name})
        return None


@registry.register
class Idempotent(Effect):
    """The same key does it once."""

    name = "world.idempotent"
    protection = contract.Protection.IDEMPOTENT

    def run(self, args: EffectArguments, ctx: contract.Context) -> contract.Receipt:
        World.refuse()
        if not any(line["key"] == ctx.idempotency_key for line in World.effects(args.name)):
            World.write(args.name, ctx.idempotency_key)
        return contract.Receipt(summary=f"Did {args.name}.", value={"name": args.name})


@registry.register
class Allowed(Effect):
    """Tier 1: nobody is asked."""

    name = "world.allowed"
    effect = contract.Effect.REVERSIBLE
    tier = 1


@registry.register
class Back(Effect):
    """It can be taken back, by an effect that can be looked up."""

    name = "world.back"
    protection = contract.Protection.LOOKUP
    undo_protection = contract.Protection.LOOKUP

    def lookup(
        self, args: EffectArguments, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        return self._find(args.name, keys)

    def undo(
        self, args: EffectArguments, receipt: contract.Receipt, ctx: contract.Context
    ) -> contract.Receipt:
        World.refuse()
        World.write(f"undo {args.name}", ctx.idempotency_key)
        return contract.Receipt(summary=f"Took back {args.name}: {receipt.summary}")

    def undo_lookup(
        self, args: EffectArguments, receipt: contract.Receipt, keys: Sequence[str], ctx: contract.Context
    ) -> contract.Receipt | None:
        return self._find(f"undo {args.name}", keys)

    def _find(self, name: str, keys: Sequence[str]) -> contract.Receipt | None:
        if any(line["key"] in keys for line in World.effects(name)):
            return contract.Receipt(summary=f"Found {name}.")
        return None


@registry.register
class Blind(Back):
    """It can be taken back, but only a person can say whether that happened."""

    name = "world.blind"
    undo_protection = contract.Protection.UNPROTECTED


@registry.register
class Mild(Back):
    """Tier 1, and so is its undo: nobody is asked about either."""

    name = "world.mild"
    effect = contract.Effect.REVERSIBLE
    tier = 1


@registry.register
class Costly(Effect):
    """Tier 3, with a precondition."""

    name = "world.costly"
    tier = 3
    decisive = ("amount", "name")
    balance: ClassVar[int] = 0

    def precondition(self, args: EffectArguments, ctx: contract.Context) -> dict[str, Any]:
        return {"balance": type(self).balance}


@registry.register
class Look(contract.Tool):
    """A read that can be told to fail."""

    name = "world.look"
    effect = contract.Effect.READ
    failures: ClassVar[list[Exception]] = []
    runs: ClassVar[list[float]] = []

    class Arguments(contract.Arguments):
        """What to look at."""

        name: str = ""

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        type(self).runs.append(time.monotonic())
        if type(self).failures:
            raise type(self).failures.pop(0)
        return contract.Receipt(
            summary=f"Looked at {args.name}.", value={"seen": args.name, "rows": ["a", "b"]}
        )
