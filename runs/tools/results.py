"""Reading on in a result that was too long to be sent to a model whole."""

from __future__ import annotations

from typing import Protocol, cast

import pydantic

from runs.tools import contract, registry

PAGE = 5_000


class Results(Protocol):
    """What this tool needs beyond other tools' context: what the run's log holds."""

    def result(self, handle: int) -> str:
        """Return the whole text of a result in this run's log, by its handle; LookupError where there is none."""
        ...


class ReadMoreArguments(contract.Arguments):
    """Which result, and from where on."""

    handle: int = pydantic.Field(ge=1, le=2**31 - 1, description="The handle that the result was shown with.")
    offset: int = pydantic.Field(default=0, ge=0, description="Characters to leave out.")


@registry.register
class ReadMore(contract.Tool):
    """Read on in a result of this run of which only the head was shown."""

    name = "read_more"
    title = "Read on in a long result"
    effect = contract.Effect.READ
    Arguments = ReadMoreArguments

    def run(self, args: ReadMoreArguments, ctx: contract.Context) -> contract.Receipt:
        """Return the next characters as a text. Refuses (DidNotHappen) a handle that names nothing."""
        try:
            whole = cast(Results, ctx).result(args.handle)
        except LookupError as error:
            raise contract.DidNotHappen(str(error)) from error
        page = whole[args.offset : args.offset + PAGE]
        end = args.offset + len(page)
        more = f"; read on at offset {end}" if end < len(whole) else ", the end"
        summary = f"Characters {args.offset:,} to {end:,} of {len(whole):,}{more}."
        return contract.Receipt(summary=summary, value=page)
