"""The undo of an effect as a tool of its own: gated, released, sent and accounted for like any other effect.

`adapter` makes it from the tool that did the effect. What it takes back is named by the occurrence; arguments and
receipt come along, so that what people release is exactly what the tool is given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import pydantic

from runs import exact
from runs.tools import contract

SUFFIX = ".undo"


class StoredReceipt(contract.Arguments):
    """The receipt of what is taken back, as it is stored."""

    summary: str
    value: Any = None


class Undo(contract.Tool):
    """Takes back one effect of the tool `of`."""

    of: ClassVar[contract.Tool]

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        """Take it back."""
        return self.of.undo(args.arguments, _receipt(args), ctx)

    def preview(self, args: Any, ctx: contract.Context) -> contract.Preview:
        """Return what the tool says of its undo, or that what was done is taken back."""
        shown = self.of.undo_preview(args.arguments, _receipt(args), ctx)
        if shown is not None:
            return shown
        return contract.Preview(
            summary=f"This is taken back: {args.receipt.summary}",
            facts=(("What was done", args.receipt.summary),),
            reversal="The undo itself can't be taken back.",
        )

    def lookup(self, args: Any, keys: Sequence[str], ctx: contract.Context) -> contract.Receipt | None:
        """Return the receipt if the world holds the undo."""
        return self.of.undo_lookup(args.arguments, _receipt(args), keys, ctx)

    def identity_of(self, args: Any) -> Any:
        """Return the occurrence: whatever else is said, it can be taken back once."""
        return {"occurrence": args.occurrence}


def can(kind: type[contract.Tool]) -> bool:
    """Return whether effects of this tool can be taken back."""
    return kind.undo is not contract.Tool.undo


def adapter(tool: contract.Tool) -> type[Undo]:
    """Return the tool that takes back effects of `tool`."""
    kind = type(tool)
    arguments = pydantic.create_model(
        f"Undo{kind.Arguments.__name__}",
        __base__=contract.Arguments,
        occurrence=(int, ...),
        arguments=(kind.Arguments, ...),
        receipt=(StoredReceipt, ...),
    )
    declared = {
        "__module__": kind.__module__,
        "__qualname__": f"{kind.__qualname__}.undo",
        "__doc__": f"Takes back an effect of {tool.name}.",
        "name": tool.name + SUFFIX,
        "title": f"Undo: {tool.title or tool.name}",
        "version": kind.version,
        "effect": kind.effect,
        "tier": kind.risk() if kind.undo_tier is None else kind.undo_tier,
        "protection": kind.undo_protection,
        "key_window": kind.key_window,
        "settle": kind.settle,
        "timeout": kind.timeout,
        "Arguments": arguments,
        "of": tool,
    }
    return type(f"{kind.__name__}Undo", (Undo,), declared)


def arguments(occurrence: int, done: Any, receipt: Any) -> dict[str, Any]:
    """Return the arguments of the undo of an effect: which, what was done, and what came of it."""
    kept = {"summary": str(receipt.get("summary", "")), "value": receipt.get("value")}
    return {"occurrence": occurrence, "arguments": done, "receipt": exact.stored(exact.canonical(kept))}


def _receipt(args: Any) -> contract.Receipt:
    return contract.Receipt(summary=args.receipt.summary, value=args.receipt.value)
