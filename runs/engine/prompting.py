"""What a model is sent: the part of the log that it takes, read backwards from the end to the newest summary."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain
from typing import Any

from runs import lifecycle, models, state
from runs.engine import frontier as frontiers
from runs.engine import secrets
from runs.providers import building, contract, controls, instructed, llm, prompts
from runs.tools import registry
from runs.tools.contract import Effect, Tool

BATCH = 200
USE = "model"
"""What a secret has to be allowed for, so that an agent's model may have it as its key."""

_ASKS = "A person may be asked before it is carried out, and may change it."
_SAID: Mapping[str, str] = {
    Effect.READ: "It only looks.",
    Effect.REVERSIBLE: f"It changes something. {_ASKS}",
    Effect.IRREVERSIBLE: f"It can't be taken back. {_ASKS}",
}


def prompt(front: frontiers.Frontier) -> prompts.Prompt:
    """Return what the run's model is sent next."""
    llm.load()
    lines, summary = lines_of(front.run)
    window, output = llm.limits(front.agent)
    return building.prompt(
        building.Known(
            agent=front.agent,
            input=front.situation.state.input,
            lines=lines,
            summary=summary,
            steps=_steps(front.run),
            plan_version=front.situation.state.plan_version,
            tools=tuple(_shown(name) for name in (*front.agent.tools, controls.READ_MORE)),
            window=window,
            output=output,
        )
    )


def lines_of(run: models.Run) -> tuple[list[state.Line], Mapping[str, Any] | None]:
    """Return the lines of the run's path after what the newest summary covers, oldest first, and that summary.

    A summary from before the input was corrected doesn't count: older lines are read again, and summed up anew.
    """
    found: list[state.Line] = []
    summary: Mapping[str, Any] | None = None
    upto, corrected = 0, False
    for holder, last in reversed([*run.path, (run.pk, run.position)]):
        before: int | None = int(last) + 1
        while before is not None and before > upto + 1:
            rows = models.Entry.objects.filter(
                run=holder, position__lt=before, position__gt=upto, kind__in=building.READ_KINDS
            ).order_by("-position")[:BATCH]
            batch = list(rows)
            before = batch[-1].position if len(batch) == BATCH else None
            for line in batch:
                if line.position <= upto:
                    break
                if line.kind == lifecycle.EntryKind.SUMMARY:
                    if summary is None and not corrected:
                        summary, upto = line.content, line.content["upto"]
                    continue
                corrected = corrected or line.kind == lifecycle.EntryKind.CORRECTION
                found.append(line)
    return found[::-1], summary


def secret_of(front: frontiers.Frontier, name: str) -> str:
    """Return the value of the secret that is the key of the agent's model. Refuses contract.ProviderError."""
    try:
        return secrets.value_of(name, agent=front.agent.name, tool=USE)
    except secrets.NotFilledIn as error:
        raise contract.ProviderError(str(error)) from None


def _steps(run: models.Run) -> tuple[state.PlanStep, ...]:
    """Return the plan as far as it is shown: its open steps, and those that were over last."""
    if not run.plan_version:
        return ()
    rows = models.PlanStep.objects.filter(run=run)
    ahead = rows.filter(state__in=frontiers.OPEN_STEPS).order_by("order")[: instructed.MOST_STEPS]
    over = rows.exclude(state__in=frontiers.OPEN_STEPS).order_by("-order")[: instructed.MOST_STEPS // 3]
    return tuple(
        state.PlanStep(id=row.key, title=row.title, body=row.body, state=row.state)
        for row in sorted(chain(ahead, over), key=lambda row: row.order)
    )


def _shown(name: str) -> prompts.Tool:
    try:
        tool = registry.get(name)
    except registry.UnknownTool:  # the run asks about it before it comes here
        return prompts.Tool(name=name, description="It isn't installed.", parameters={"type": "object"})
    return prompts.Tool(name=name, description=_described(tool), parameters=tool.schema())


def _described(tool: Tool) -> str:
    said = " ".join((type(tool).__doc__ or tool.title or tool.name).split())
    return f"{said} {_SAID[tool.effect]}"
