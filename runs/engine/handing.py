"""Each agent as a tool that work can be handed to, and what keeps work from being handed round."""

from __future__ import annotations

import threading
import time

from django.db.models import QuerySet

from runs import models
from runs.tools import contract, handing, registry
from runs.transitions.refusals import Changed

FRESH = 1.0
"""So many seconds what was read counts, as with the tools of other sources."""


class Offering:
    """The registry's source of these tools: one for each agent, as it is in use now."""

    def __init__(self) -> None:
        self._made: dict[tuple[int, str], contract.Tool] = {}
        self._known: dict[str, contract.Tool] = {}
        self._read = float("-inf")
        self._lock = threading.Lock()

    def find(self, name: str) -> contract.Tool | None:
        """Return the tool that hands to an agent, or None where there is no such agent."""
        if not name.startswith(handing.PREFIX):
            return None
        found = self._now().get(name)
        if found is None:  # it may have been made a moment ago
            agent = _agents().filter(name=name.removeprefix(handing.PREFIX)).first()
            return None if agent is None else self._tool(agent)
        return found

    def all(self) -> tuple[contract.Tool, ...]:
        """Return all of them."""
        return tuple(self._now().values())

    def longest_timeout(self) -> float:
        """Return 0.0: nothing is sent."""
        return 0.0

    def _now(self) -> dict[str, contract.Tool]:
        with self._lock:
            if time.monotonic() - self._read > FRESH:
                found = [self._tool(agent) for agent in _agents().order_by("name")]
                self._known = {tool.name: tool for tool in found}
                self._read = time.monotonic()
            return self._known

    def _tool(self, agent: models.Agent) -> contract.Tool:
        assert agent.current is not None
        key = (agent.current.pk, agent.title)
        if key not in self._made:
            now = agent.current
            kind = handing.kind(
                agent.name,
                title=agent.title,
                schema=now.input_schema,
                budget=now.budget,
                version=(now.pk, now.number),
            )
            self._made[key] = kind()
        return self._made[key]


def _agents() -> QuerySet[models.Agent]:
    return models.Agent.objects.filter(current__isnull=False).select_related("current")


def offer() -> None:
    """Let the registry find them."""
    registry.look_in(Offering())


def refusal(run: models.Run, agent: str) -> str:
    """Return why this run may not hand work to that agent, in one sentence, or nothing."""
    above, names = run, []
    while True:
        names.append(above.agent_version.agent.name)
        if above.parent is None:
            break
        above = above.parent
    if agent in names:
        return f"{agent!r} is at work on this already: it may not be handed back to it."
    if len(names) > handing.DEEPEST:
        return (
            f"This was handed over {len(names) - 1} times already; do it here, or say why it can't be done."
        )
    return ""


def earlier(run: models.Run, action: models.Action) -> int | None:
    """Return the current attempt of the work that this lineage has handed over before and that came to nothing.

    None where it hands it over for the first time. Refuses Changed while that attempt goes on.
    """
    last = (
        models.Run.objects.filter(
            handed_by__root=run.root_id,
            handed_by__tool=action.tool,
            handed_by__identity_digest=action.identity_digest,
            handed_by__state="void",
            superseded_by__isnull=True,
            mode=models.Run.Mode.LIVE,
        )
        .order_by("-pk")
        .first()
    )
    if last is None:
        return None
    if last.ended_at is None:
        raise Changed(f"run {last.pk} goes on with the same work")
    return last.pk
