"""Past actions as policy saw them when they were proposed, read for many at once."""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from django.db.models import Min
from django.db.models.functions import Coalesce

from runs import lifecycle, models
from runs.models import alike
from runs.policies import rules
from runs.tools import registry

_DAY = 86_400.0


def facts(action: models.Action) -> rules.Facts:
    """Return what policy knows of every such call. Of a tool that is gone, what the action kept of it."""
    run = action.run
    try:
        tool = registry.get(action.tool)
        tier, world = tool.risk(), tool.open_world
    except registry.UnknownTool:
        tier, world = action.tier, False
    return rules.Facts(
        agent=run.agent_version.agent.name,
        tool=action.tool,
        effect=action.effect,
        tier=tier,
        protection=action.protection,
        mode=str(run.mode),
        labels=alike.labels(run),
        open_world=world,
    )


class Past:
    """The past of some actions. What no rule asks is never read; what is asked of one is read for all at once."""

    def __init__(self, actions: Sequence[models.Action]) -> None:
        self.actions = actions

    def of(self, action: models.Action) -> Mapping[str, Any]:
        """Return the action as rules ask about it."""
        return _Call(self, action)

    @cached_property
    def arguments(self) -> dict[int, Any]:
        """The arguments as they were proposed; none of a call that was opened again at a checkpoint, or erased."""
        runs = {action.run_id for action in self.actions}
        positions = {action.reply_position for action in self.actions}
        lines = models.Entry.objects.filter(
            run__in=runs, position__in=positions, kind=lifecycle.EntryKind.REPLY
        )
        calls = {
            (line.run_id, line.position): line.content["calls"]
            for line in lines.iterator()
            if "calls" in line.content
        }
        return {
            action.pk: calls[at][action.call_index]["arguments"]
            for action in self.actions
            if (at := (action.run_id, action.reply_position)) in calls
        }

    @cached_property
    def reached(self) -> dict[str, datetime.datetime]:
        """When a target was first reached with what people released."""
        wanted = {
            digest
            for action in self.actions
            if (digest := alike.target(action.tool, action.preview)) is not None
        }
        rows = models.Review.objects.filter(
            target__in=wanted, status=lifecycle.Review.APPROVED, action__status=lifecycle.Action.SUCCEEDED
        )
        first = rows.values("target").annotate(at=Min("closed_at")).values_list("target", "at")
        return {str(target): at for target, at in first}

    @cached_property
    def done(self) -> dict[tuple[str, str], list[tuple[int, datetime.datetime]]]:
        """In which lineage and when something of a tool and identity was done."""
        wanted = {action.identity_digest for action in self.actions if action.identity_digest}
        rows = models.Occurrence.objects.filter(
            identity_digest__in=wanted, state=lifecycle.Occurrence.STANDING
        ).annotate(at=Coalesce("settled_at", "created_at"))
        found: dict[tuple[str, str], list[tuple[int, datetime.datetime]]] = defaultdict(list)
        for tool, identity, root, at in rows.values_list("tool", "identity_digest", "root", "at"):
            found[tool, identity].append((root, at))
        return found

    @cached_property
    def deviating(self) -> frozenset[int]:
        """The actions that were put before people because they left the approved plan."""
        asked = models.Review.objects.filter(action__in=[action.pk for action in self.actions])
        return frozenset(
            action for action, content in asked.values_list("action", "content") if content.get("deviation")
        )


class _Call(Mapping[str, Any]):
    """One past action; asking for what the past doesn't tell refuses rules.Unknown."""

    def __init__(self, past: Past, action: models.Action) -> None:
        self._past, self._action = past, action

    def __getitem__(self, name: str) -> Any:
        action, past = self._action, self._past
        match name:
            case "args":
                if action.pk not in past.arguments:
                    raise rules.Unknown("its arguments stand in an earlier attempt.")
                return past.arguments[action.pk]
            case "run":
                return alike.of_run(action.run)
            case "duplicate":
                return action.duplicate_of_id is not None
            case "deviation":
                return action.pk in past.deviating
            case "first_time":
                target = alike.target(action.tool, action.preview)
                if target is None:
                    raise rules.Unknown("it was never said what it reaches.")
                first = past.reached.get(target)
                return first is None or first > action.created_at
            case "seen_elsewhere":
                return self._seen()
            case "budget":
                raise rules.Unknown("what the run had used by then isn't kept.")
        raise KeyError(name)

    def _seen(self) -> float | None:
        action = self._action
        before = [
            at
            for root, at in self._past.done[action.tool, action.identity_digest]
            if root != action.run.root_id and at < action.created_at
        ]
        return (action.created_at - max(before)).total_seconds() / _DAY if before else None

    def __iter__(self) -> Iterator[str]:
        return iter((*rules.MARKS, "seen_elsewhere", *sorted(rules.NAMES)))

    def __len__(self) -> int:
        return len(rules.MARKS) + 1 + len(rules.NAMES)
