"""What all examples of the state machine share: people, an agent, the clock and the workers."""

from __future__ import annotations

from typing import Any

from runs import seed
from runs.providers import declared
from runs.transitions.actor import Actor
from tests import factories
from tests.harness import shifted, small_world, workers

AGENT = "machine"
_two = {"name": "Two", "match": {"tier": [2]}, "verdict": "review", "quorum": 2}
_one = {"name": "One", "match": {"tier": [2]}, "verdict": "review"}
_free = {"name": "Free", "match": {"tier": [1]}, "verdict": "allow"}
_ban = {"name": "Ban", "match": {"tool": "small.lookup"}, "verdict": "deny"}
POLICIES: dict[str, list[dict[str, Any]]] = {
    "usual": [_free, _one], "two": [_free, _two], "ban": [_ban, _free, _one], "all asked": [_one],
}  # fmt: skip


class Stage:
    """What all examples share: people, agent, clock and workers."""

    def __init__(self, clock: shifted.Clock, hands: workers.Workers) -> None:
        self.clock, self.workers = clock, hands
        self.reviewers = [Actor(user=factories.person(f"reviewer-{n}", "reviewer")) for n in range(2)]
        self.operator = Actor(user=factories.person("olga", "operator"))
        self.admin = Actor(user=factories.person("ada", "admin"))
        rows: list[dict[str, Any]] = [
            {"id": kind, "title": kind, "each": f"input.{kind}", "as": "row", "key": "row", "row_title": "${row}",
             "tool": f"small.{kind}", "with": {"name": "${row}"}, "required": False}
            for kind in ("read", *small_world.KINDS)
        ]  # fmt: skip
        end = {"id": "end", "title": "End", "finish": {"summary": "Done."}}
        tools = tuple(f"small.{kind}" for kind in ("read", *small_world.KINDS))
        schema = {"type": "object", "properties": {}}
        ask = {"id": "ask", "title": "Ask", "if": "has(input.asks) && input.asks", "required": False,
               "ask": {"question": "How is it to be done?"}}  # fmt: skip
        definition = {"steps": [ask, *rows, end]}
        seed.register(
            declared.Agent(name=AGENT, title="Machine", provider="playbook", definition=definition,
                           tools=tools, input_schema=schema)
        )  # fmt: skip
