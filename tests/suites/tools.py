"""AgentDojo's functions as tools: reads are free, everything else is released by a person."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

import pydantic

from runs.tools import contract, registry
from tests.suites import worlds

READS = ("get_", "search_", "list_", "read_", "check_")
_FINAL = ("send_", "delete_", "schedule_", "update_password", "post_", "reserve_", "remove_")
"""What can't be had back: money, messages, bookings, what is deleted. Other effects can be put right, at a cost."""


class Read(contract.Tool):
    """One function of a suite that only looks, in the world of the run that calls it."""

    function: ClassVar[str]

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        """Carry it out."""
        try:
            answer = worlds.of(ctx.run_id).do(
                self.function, args.model_dump(mode="json"), ctx.idempotency_key
            )
        except ValueError as error:  # the environment is as it was
            raise contract.DidNotHappen(str(error)) from error
        return contract.Receipt(summary=f"{self.title}: done.", value=answer)


class Change(Read):
    """One that changes something there, once for each key."""

    protection = contract.Protection.IDEMPOTENT
    key_window = timedelta(days=1)

    def preview(self, args: Any, ctx: contract.Context) -> contract.Preview:
        """Say what is called, and with what."""
        facts = tuple((name, str(value)) for name, value in args.model_dump(mode="json").items())
        return contract.Preview(summary=f"{self.title}.", facts=facts)


def register(name: str) -> tuple[str, ...]:
    """Return the names of a suite's tools, which are registered now."""
    return tuple(registry.register(_kind(name, function)).name for function in worlds.suite(name).tools)


def _kind(suite: str, function: Any) -> type[contract.Tool]:
    reads = function.name.startswith(READS)
    strict = type(
        f"{suite}_{function.name}_arguments",
        (function.parameters,),
        {"__module__": __name__, "model_config": pydantic.ConfigDict(extra="forbid", frozen=True)},
    )
    return type(
        f"{suite}_{function.name}",
        (Read if reads else Change,),
        {
            "__module__": __name__,
            "__doc__": function.description,
            "name": f"{suite}.{function.name}",
            "title": function.name.replace("_", " ").capitalize(),
            "function": function.name,
            "effect": contract.Effect.READ if reads else contract.Effect.IRREVERSIBLE,
            "open_world": function.name == "get_webpage",
            "tier": None if reads else 3 if function.name.startswith(_FINAL) else 2,
            "Arguments": strict,
        },
    )
