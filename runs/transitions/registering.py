"""Keeping what agents are: each change is another version, and the same contents are the same version."""

from __future__ import annotations

from typing import Any

from django.db.models import F

from runs import exact, measures, models
from runs.providers import declared
from runs.providers import registry as providers
from runs.tools import registry as tools
from runs.transitions import audit, limits
from runs.transitions.actor import Actor
from runs.transitions.committing import within


def register(agent: declared.Agent) -> models.AgentVersion:
    """Return the version in use of an app's agent, a new one if it changed; a bad one is refused (ValueError)."""
    providers.get(agent.provider).check(agent.definition, agent.tools)
    providers.check_model(agent.provider, agent.model)
    for tool in agent.tools:
        tools.get(tool)
    tools.check_steps(agent.definition)
    _check_limits(agent)
    if not declared.PROJECT.match(agent.project):
        raise ValueError(f"The project of {agent.name!r} may have letters, digits, - and _ only, 80 at most.")
    return kept(agent, use=True)


def kept(
    agent: declared.Agent, *, use: bool, reason: str = "", by: models.User | None = None
) -> models.AgentVersion:
    """Return the agent's version with these contents, a new one if there is none; with `use` new runs start on it.

    The contents were checked before. An agent's first version is in use whatever is asked for.
    """
    contents: dict[str, Any] = {
        "provider": agent.provider,
        "model": agent.model,
        "instructions": agent.instructions,
        "tools": list(agent.tools),
        "definition": dict(agent.definition),
        "input_schema": dict(agent.input_schema),
        "budget": {**agent.budget, **({"day": dict(agent.per_day)} if agent.per_day else {})},
    }
    # Only where it is asked for, so that versions without it keep their digest.
    contents.update({name: True for name in ("ordered", "approve_plan") if getattr(agent, name)})
    digest = exact.digest_of(contents)
    row, _ = models.Agent.objects.get_or_create(
        name=agent.name, defaults={"title": agent.title, "project": agent.project}
    )
    version = row.versions.filter(digest=digest).first()
    if version is None:
        newest = row.versions.order_by("-number").values_list("number", flat=True).first() or 0
        version = models.AgentVersion.objects.create(
            agent=row, number=newest + 1, digest=digest, reason=reason, created_by=by, **contents
        )
    used = use or row.current_id is None
    if (used and row.current_id != version.pk) or row.title != agent.title:
        row.current = version if used else row.current
        row.title = agent.title
        row.save(update_fields=["current", "title"])
    if used:
        limits.declare(row)
    if used and row.project != agent.project:
        _move(row, agent.project, by=by)
    return version


def _move(row: models.Agent, project: str, *, by: models.User | None) -> None:
    """Put an agent into another project: who is limited to one of these sees others now, so every gate looks again."""
    with within("agent_move"):
        models.Installation.objects.filter(pk=1).update(gate_epoch=F("gate_epoch") + 1)
        content = {"before": row.project, "after": project}
        row.project = project
        row.save(update_fields=["project"])
        actor = Actor(user=by, channel="shell" if by is None else "page")
        audit.append("agent.moved", actor=actor, subject=f"agent {row.name}", content=content)


def _check_limits(agent: declared.Agent) -> None:
    known = [*measures.Measure, *(measures.of_tool(tool) for tool in agent.tools)]
    for name, limit in (*agent.budget.items(), *agent.per_day.items()):
        if name not in known or type(limit) is not int or limit < 0:
            raise ValueError(
                f"The budget of {agent.name!r} may limit {', '.join(known)}, each by a whole number; "
                f"{name!r} can't be {limit!r}."
            )
