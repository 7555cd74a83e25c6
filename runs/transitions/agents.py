"""Agents that people make: each change is a new version with a reason, tried out before it is put in use or not."""

from __future__ import annotations

from runs import models, rights
from runs.models import scopes
from runs.providers import declared
from runs.transitions import attempts, audit, limits, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale
from runs.transitions.registering import kept


@attempts.noted("agent.save", "agent {0.name}")
def save(agent: declared.Agent, *, base: int, reason: str, use: bool, by: Actor) -> models.AgentVersion:
    """Return the agent's version with these contents; with `use` new runs start on it, else it can be tried out.

    `base` is the version that was changed, 0 for a new agent. Refuses NotYours, Invalid without a reason, for an agent
    that an installed app declares, and where nothing is changed, and Stale where others have changed it meanwhile.
    """
    user = _entitled(by)
    reason = texts.typed(reason, "reason")
    if not texts.says(reason):
        raise Invalid("Say why; whoever reads the audit trail will want to know.")
    if agent.name in {one.name for one in declared.everywhere()}:
        raise Invalid(
            f"{agent.name!r} is declared by an installed app and is changed there; give this one another name."
        )
    with committing("agent_save"):
        row = (
            models.Agent.objects.select_for_update(no_key=True, of=("self",)).filter(name=agent.name).first()
        )
        newest = row.versions.order_by("-number").first() if row is not None else None
        if (newest.number if newest else 0) != base:
            raise Stale(
                "Somebody has changed this agent meanwhile."
                if base
                else "There is an agent of this name already."
            )
        if row is not None and not scopes.within(user, [row.pk]):
            raise Invalid(f"There is no agent named {agent.name!r}.")
        before = newest.declared() if newest is not None else None
        if before == agent and (not use or row is None or newest is None or row.current_id == newest.pk):
            raise Invalid("Nothing is changed.")
        version = kept(agent, use=use, reason=reason, by=user)
        content = {"version": version.number, "digest": version.digest, "in_use": use, "reason": reason,
                   "before": newest.digest if newest else None}  # fmt: skip
        audit.append("agent.saved", actor=by, subject=f"agent {agent.name}", content=content)
    return version


@attempts.noted("agent.use", "agent {}")
def use(name: str, number: int, *, reason: str, by: Actor) -> models.AgentVersion:
    """Return the version that new runs start on from now on; runs that have begun keep theirs.

    Refuses NotYours, Invalid without a reason, for an app's own agent, and a version that isn't there, and Stale where
    it is in use already.
    """
    user = _entitled(by)
    reason = texts.typed(reason, "reason")
    if not texts.says(reason):
        raise Invalid("Say why; whoever reads the audit trail will want to know.")
    if name in {one.name for one in declared.everywhere()}:
        raise Invalid(f"{name!r} is declared by an installed app and is changed there.")
    with committing("agent_use"):
        row = models.Agent.objects.select_for_update(no_key=True, of=("self",)).filter(name=name).first()
        version = row.versions.filter(number=number).first() if row is not None else None
        if row is None or version is None or not scopes.within(user, [row.pk]):
            raise Invalid(f"There is no version {number} of an agent named {name!r}.")
        if row.current_id == version.pk:
            raise Stale("This version is in use already.")
        before = row.current.number if row.current else None
        row.current = version
        row.save(update_fields=["current"])
        limits.declare(row)
        content = {"before": before, "after": number, "reason": reason}
        audit.append("agent.used", actor=by, subject=f"agent {name}", content=content)
    return version


def _entitled(by: Actor) -> models.User:
    if by.user is None or not rights.may(by.user.roles(), rights.Act.AGENTS):
        raise NotYours("You may not change agents; an administrator can.")
    return by.user
