"""The people of the harness, and its agents: reads, and effects of each protection, as their input says."""

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
    given: tuple[tuple[str, str, list[dict[str, object]], dict[str, int], tuple[str, ...]], ...] = (
        (acts.BELOW, tools.Paid.name, [*_steps(), _END], BUDGET, ()),
        (acts.AGENT, tools.Paid.name, [*_steps(), _HAND_OFF, _END], BUDGET, (f"hand_off.{acts.BELOW}",)),
        (acts.LOCAL, "playbook", _one_after_the_other(), {}, ()),
    )
    for name, provider, steps, budget, further in given:
        seed.register(
            declared.Agent(
                name=name,
                title="Harness",
                provider=provider,
                budget=budget,
                definition={"steps": steps},
                tools=("harness.read", tools.Bare.name, tools.Look.name, tools.Idempotent.name, *further),
                input_schema={"type": "object", "properties": {}},
            )
        )


def _one_after_the_other() -> list[dict[str, object]]:
    """Steps whose results and next replies and intents follow each other at once."""
    order = (
        ("read", "${input.name}"),
        ("lookup", "${input.lookup[0]}"),
        ("idempotent", "${input.idempotent[0]}"),
        ("read", "${input.again}"),
    )
    steps: list[dict[str, object]] = [
        {"id": f"step-{number}", "title": kind, "tool": f"harness.{kind}", "with": {"name": name}}
        for number, (kind, name) in enumerate(order)
    ]
    return [*steps, _END]


_END: dict[str, object] = {"id": "end", "title": "End", "finish": {"summary": "Done."}}
_HAND_OFF: dict[str, object] = {
    "id": "below",
    "title": "Hand the rest over",
    "if": "has(input.below)",
    "tool": f"hand_off.{acts.BELOW}",
    "with": {"subject": "${input.name}", "input": "${input.below}"},
    "required": False,
}


def _steps() -> list[dict[str, object]]:
    return [
        {"id": "read", "title": "Read", "tool": "harness.read", "with": {"name": "${input.name}"}},
        {
            "id": "ask",
            "title": "Ask",
            "if": "has(input.asks) && input.asks",
            "ask": {"question": "How is ${input.name} to be done?"},
            "required": False,
        },
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
    ]
