"""Handing work to another agent, as a tool for each agent that work can be handed to.

The effect is a run of that agent, a child of the one that handed over. The intent's own commit makes it, so it is
never in doubt, and the call is closed with the child's result when that has ended.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, ClassVar

import pydantic

from runs import exact, jsonschemas, measures
from runs.tools import contract

PREFIX = "hand_off."
DEEPEST = 5
"""So many runs above it a child may have: work that is only handed on has to end somewhere."""
_VISIBLE = r"^[^\x00-\x1f\x7f]*$"


class Arguments(contract.Arguments):
    """What the other agent is to do. The same subject is the same work, whatever else is said of it."""

    subject: Annotated[
        str,
        pydantic.Field(
            min_length=1,
            max_length=120,
            pattern=_VISIBLE,
            description="What the work is about, such as an invoice's number; the same again is the same work.",
        ),
    ]
    input: dict[str, Any]
    given: ClassVar[Mapping[str, Any]] = {}

    @pydantic.field_validator("input")
    @classmethod
    def _fits(cls, value: dict[str, Any]) -> dict[str, Any]:
        problems = jsonschemas.problems(cls.given, value)
        if problems:
            first = problems[0]
            where = ".".join(str(part) for part in first.path)
            raise ValueError(f"{where}: {first.sentence}" if where else first.sentence)
        return value

    @classmethod
    def model_json_schema(cls, *args: Any, **more: Any) -> dict[str, Any]:
        """Return the schema, with what the other agent takes as its input."""
        found = super().model_json_schema(*args, **more)
        return {**found, "properties": {**found["properties"], "input": dict(cls.given)}}


class HandOff(contract.Tool):
    """Hand a piece of work to this agent and wait for its result."""

    effect = contract.Effect.REVERSIBLE
    protection = contract.Protection.IDEMPOTENT
    timeout = timedelta(
        seconds=0.5
    )  # nothing is sent: the commit is all, so nobody waits for more before taking over
    settle = timedelta(0)
    identity = ("subject",)
    decisive = ("input",)
    agent_title: ClassVar[str]
    limits: ClassVar[str]
    its_version: ClassVar[int]
    """The row of the version of that agent which does it: what was approved is what runs."""
    its_number: ClassVar[int]

    def preview(self, args: Any, ctx: contract.Context) -> contract.Preview:
        """Say to whom what is handed."""
        facts = tuple((name, _short(value)) for name, value in args.input.items())
        return contract.Preview(
            summary=f"Hand “{args.subject}” to the agent “{self.agent_title}”.",
            target=self.agent_title,
            facts=(*facts, ("Limits of its run", self.limits)),
            reversal="Its run can be stopped; what that has done by then stays done.",
        )

    def precondition(self, args: Any, ctx: contract.Context) -> Mapping[str, Any]:
        """Return the version in use: another one is asked about anew."""
        return {"version": self.its_number}

    def run(self, args: Any, ctx: contract.Context) -> contract.Receipt:
        """Refuse: the engine's intent makes the child, and its end is the receipt."""
        raise contract.DidNotHappen("Work is handed over by the engine only.")


def kind(
    agent: str, *, title: str, schema: Mapping[str, Any], budget: Mapping[str, Any], version: tuple[int, int]
) -> type[HandOff]:
    """Return the tool that hands work to an agent which takes an input of this schema and has this budget."""
    limits = ", ".join(measures.amount(name, limit) for name, limit in measures.limits(budget))
    given = {"type": "object", **schema}
    arguments = type(
        "Arguments", (Arguments,), {"given": given, "__module__": __name__, "__doc__": Arguments.__doc__}
    )
    return type(
        "HandOff",
        (HandOff,),
        {
            "__module__": __name__,
            "__doc__": f"Hand a piece of work to the agent “{title}” and wait for its result.",
            "name": f"{PREFIX}{agent}",
            "title": f"Hand over to {title}",
            "hands_to": agent,
            "agent_title": title,
            "its_version": version[0],
            "its_number": version[1],
            "limits": limits or "none but those of the run that hands it over",
            "Arguments": arguments,
        },
    )


def _short(value: Any) -> str:
    text = value if isinstance(value, str) else exact.canonical(value, limit=None)
    return text if len(text) <= 200 else f"{text[:199]}…"
