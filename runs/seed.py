"""Rows that every database needs: made after each migrate and each flush, and harmless when they are there already."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db import connection, transaction

from runs import exact, models, rights
from runs.policies import parsing, rules
from runs.providers import declared
from runs.transitions import limits
from runs.transitions.registering import register as register

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
        installation, _ = models.Installation.objects.select_for_update(no_key=True).get_or_create(pk=1)
        if installation.policy_version is None:
            installation.policy_version = _first_policy()
            installation.save(update_fields=["policy_version"])
        for agent in declared.everywhere():
            register(agent)
        for known in models.Agent.objects.select_related("current").order_by("pk"):
            limits.declare(known)


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
