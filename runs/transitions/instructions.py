"""Corrected instructions: a version of the agent of its own, which only the run that asked for it is bound to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import exact, models
from runs.transitions import texts
from runs.transitions.refusals import Invalid


def contents(version: models.AgentVersion) -> dict[str, Any]:
    """Return what a version's digest is of."""
    found: dict[str, Any] = {
        name: getattr(version, name)
        for name in ("provider", "model", "instructions", "tools", "definition", "input_schema", "budget")
    }
    # Only where it is asked for, so that versions without it keep their digest.
    return found | {name: True for name in ("ordered", "approve_plan") if getattr(version, name)}


def version_with(version: models.AgentVersion, text: str | None, *, by: models.User) -> models.AgentVersion:
    """Return the version with these instructions, made if there is none; the agent's current version stays.

    Runs in the caller's transaction. Refuses Invalid for a text that can't be stored.
    """
    if text is None:
        return version
    wanted = texts.typed(text.replace("\r\n", "\n"), "instructions")
    if wanted == version.instructions.strip():
        return version
    if not texts.says(wanted):
        raise Invalid("Write what the agent is to do; without instructions it can't go on.")
    agent = models.Agent.objects.select_for_update(no_key=True, of=("self",)).get(pk=version.agent_id)
    whole = contents(version) | {"instructions": wanted}
    digest = exact.digest_of(whole)
    known = agent.versions.filter(digest=digest).first()
    if known is not None:
        return known
    newest = agent.versions.order_by("-number").values_list("number", flat=True).first() or 0
    return models.AgentVersion.objects.create(
        agent=agent, number=newest + 1, digest=digest, created_by=by, **whole
    )


def told(before: models.AgentVersion, after: models.AgentVersion) -> Mapping[str, Any]:
    """Return what the new run's first line says about it; nothing where the instructions stay."""
    if after.pk == before.pk:
        return {}
    old, new = exact.digest_of(before.instructions), exact.digest_of(after.instructions)
    return {"instructions": {"before": old, "after": new, "version": after.number}}
