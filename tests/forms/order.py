"""A tool with arguments of every kind, and the question about one call of it."""

from __future__ import annotations

import enum
import itertools
from typing import Annotated, Any

import pydantic

from runs import models, seed
from runs.providers import declared
from runs.tools import contract, registry
from runs.transitions import starts
from runs.transitions.actor import Actor
from tests.engine.conftest import go, only_review

_numbers = itertools.count(1)
LETTER = b"A letter."


class Way(enum.StrEnum):
    """How it is sent."""

    POST = "post"
    COURIER = "courier"


class Line(pydantic.BaseModel):
    """One line of the order."""

    model_config = pydantic.ConfigDict(extra="forbid")

    article: str = pydantic.Field(min_length=1)
    count: int = pydantic.Field(ge=1)


class OrderArguments(contract.Arguments):
    """What is ordered, by whom."""

    to: str = pydantic.Field(pattern=r"^[^@\s]+@[^@\s]+$", json_schema_extra={"format": "email"})
    text: str = pydantic.Field(max_length=2000, description="What the supplier reads.")
    amount: Annotated[float, pydantic.Field(gt=0)] = 1.0
    way: Way = Way.POST
    urgent: bool = False
    note: str | None = None
    lines: list[Line] = []
    letter: contract.FileRef | None = None
    account: str = pydantic.Field(default="4711", json_schema_extra={"readOnly": True})


@registry.register
class Order(contract.Tool):
    """Orders something."""

    name = "world.order"
    title = "Order"
    effect = contract.Effect.IRREVERSIBLE
    tier = 2
    identity = ("to",)
    decisive = ("to",)
    Arguments = OrderArguments

    def run(self, args: OrderArguments, ctx: contract.Context) -> contract.Receipt:
        """Order it."""
        return contract.Receipt(summary=f"Ordered from {args.to}.")

    def preview(self, args: OrderArguments, ctx: contract.Context) -> contract.Preview:
        """Say what will be ordered."""
        return contract.Preview(summary=f"Orders {len(args.lines)} lines from {args.to}.", body=args.text)


ARGUMENTS = {
    "to": "wrong@example.org",
    "text": "Dear supplier,\n\nplease send us what is listed below.\n\nYours",
    "lines": [{"article": "paper", "count": 2}, {"article": "ink", "count": 1}],
}


def asked(by: models.User, *, letter: bool = False) -> models.Review:
    """Return the question of a run that wants to order something."""
    name = f"orders-{next(_numbers)}"
    wanted: dict[str, Any] = dict(ARGUMENTS)
    if letter:
        wanted["letter"] = {"path": "letter.txt", "sha256": starts.keep_blob(LETTER)}
    seed.register(
        declared.Agent(
            name=name,
            title="Orders",
            provider="playbook",
            definition={
                "steps": [
                    {"id": "order", "title": "Order paper", "tool": "world.order", "with": wanted},
                    {"id": "end", "title": "End", "finish": {"summary": "All done."}},
                ]
            },
            tools=("world.order",),
            input_schema={"type": "object", "properties": {}},
        )
    )
    run = starts.start_run(
        name, input={}, title="Orders of today", by=Actor(user=by), token=f"order-{next(_numbers)}"
    )
    return only_review(go(run))
