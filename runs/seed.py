"""Rows that every database needs: made after each migrate and each flush, and harmless when they are there already."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Group
from django.db import connection, transaction

from runs import exact, measures, models, rights
from runs.policies import parsing, rules
from runs.providers import declared
from runs.providers import registry as providers
from runs.tools import registry as tools

POLICY = "default"


def after_migrate(**_: object) -> None:
    """Seed, as a receiver of post_migrate."""
    if models.Installation._meta.db_table in _tables():
        seed()


def seed() -> None:
    """Make the installation row, the audit head, the groups, version 1 of the policy and the declared agents."""
    with transaction.atomic():
        for role in rights.ROLES:
            Group.objects.get_or_create(name=role)
        models.AuditHead.objects.get_or_create(pk=1)
        installation, _ = models.Installation.objects.select_for_update().get_or_create(pk=1)
        if installation.policy_version is None:
            installation.policy_version = _first_policy()
            installation.save(update_fields=["policy_version"])
        for agent in declared_agents():
            register(agent)


def declared_agents() -> list[declared.Agent]:
    """Return the agents that installed apps declare as AGENTS in their `agents.py`."""
    found: list[declared.Agent] = []
    for config in apps.get_app_configs():
        name = f"{config.name}.agents"
        if find_spec(name) is not None:
            found += getattr(import_module(name), "AGENTS", [])
    return found


def register(agent: declared.Agent) -> models.AgentVersion:
    """Return the agent's version with these contents, a new one if they changed; a bad one is refused (ValueError)."""
    providers.get(agent.provider).check(agent.definition, agent.tools)
    for tool in agent.tools:
        tools.get(tool)
    _check_limits(agent)
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
    row, _ = models.Agent.objects.get_or_create(name=agent.name, defaults={"title": agent.title})
    version = row.versions.filter(digest=digest).first()
    if version is None:
        newest = row.versions.order_by("-number").values_list("number", flat=True).first() or 0
        version = models.AgentVersion.objects.create(agent=row, number=newest + 1, digest=digest, **contents)
    if row.current_id != version.pk or row.title != agent.title:
        row.current, row.title = version, agent.title
        row.save(update_fields=["current", "title"])
    return version


def _check_limits(agent: declared.Agent) -> None:
    known = [*measures.Measure, *(measures.of_tool(tool) for tool in agent.tools)]
    for name, limit in (*agent.budget.items(), *agent.per_day.items()):
        if name not in known or type(limit) is not int or limit < 0:
            raise ValueError(
                f"The budget of {agent.name!r} may limit {', '.join(known)}, each by a whole number; "
                f"{name!r} can't be {limit!r}."
            )


def _first_policy() -> models.PolicyVersion:
    parsing.parse(rules.DEFAULT_RULES)
    policy, _ = models.Policy.objects.get_or_create(name=POLICY)
    version, _ = models.PolicyVersion.objects.get_or_create(
        policy=policy,
        number=1,
        defaults={
            "rules": rules.DEFAULT_RULES,
            "digest": exact.digest_of(rules.DEFAULT_RULES),
            "reason": "The rules that a new installation starts with: by tier.",
        },
    )
    return version


def _tables() -> list[str]:
    return connection.introspection.table_names()
