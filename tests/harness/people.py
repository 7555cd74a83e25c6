"""The people of the harness, and its agent: a read and a loop of effects for each protection, as its input says."""

from __future__ import annotations

from django.contrib.auth.models import Group

from runs import models, seed
from runs.providers import declared
from tests.harness import acts, bots, tools

BUDGET = {"calls": 20, "tokens": 100_000}
"""Enough for every run, in advances so small that one has to be taken again in the midst of work."""
GROUPS = {**dict.fromkeys(bots.REVIEWERS, "reviewer"), bots.OPERATOR: "operator", bots.ADMIN: "admin"}


def make() -> None:
    """Make them."""
    for name, group in GROUPS.items():
        user, _ = models.User.objects.get_or_create(username=name, defaults={"password": "!"})
        user.groups.set(Group.objects.filter(name=group))
    seed.register(
        declared.Agent(
            name=acts.AGENT,
            title="Harness",
            provider=tools.Paid.name,
            budget=BUDGET,
            definition={"steps": _steps()},
            tools=("harness.read", tools.Bare.name, tools.Look.name, tools.Idempotent.name),
            input_schema={"type": "object", "properties": {}},
        )
    )


def _steps() -> list[dict[str, object]]:
    return [
        {"id": "read", "title": "Read", "tool": "harness.read", "with": {"name": "${input.name}"}},
        *(
            {
                "id": f"{kind}s",
                "title": f"The {kind} ones",
                "each": f"input.{kind}",
                "as": "row",
                "key": "row",
                "row_title": "Do ${row}",
                "tool": f"harness.{kind}",
                "with": {"name": "${row}"},
                "required": False,
            }
            for kind in ("unprotected", "lookup", "idempotent")
        ),
        {"id": "end", "title": "End", "finish": {"summary": "Done."}},
    ]
