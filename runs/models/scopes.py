"""Object scope: a person or a group may be limited to some agents or projects, and sees nothing of others' runs.

Whoever is in limited groups sees what one of these allows; a limit of their own narrows that. Administrators, who set
the limits, have none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models
from django.db.models import Exists, OuterRef, Q
from django.db.models.functions import Now

from runs import rights
from runs.models.agent import Agent, AgentVersion
from runs.models.user import User

PROJECT = "project:"
"""Stands before a project's name; no agent's name has a colon."""


class Scope(models.Model):
    """One agent, or all those of a project, that a person or everybody in a group is limited to."""

    person = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="scopes"
    )
    group = models.ForeignKey(Group, null=True, on_delete=models.PROTECT, related_name="scopes")
    agent = models.ForeignKey(
        "runs.Agent", null=True, on_delete=models.PROTECT, related_name="scopes", db_index=False
    )
    project = models.SlugField(max_length=80, blank=True, db_index=False)
    made_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="runs_scope_of_one",
                condition=Q(person__isnull=True, group__isnull=False)
                | Q(person__isnull=False, group__isnull=True),
            ),
            models.CheckConstraint(
                name="runs_scope_to_one",
                condition=Q(agent__isnull=True, project__gt="") | Q(agent__isnull=False, project=""),
            ),
            models.UniqueConstraint(fields=["person", "agent"], name="runs_scope_person"),
            models.UniqueConstraint(fields=["group", "agent"], name="runs_scope_group"),
            models.UniqueConstraint(
                fields=["person", "project"], name="runs_scope_person_project", condition=Q(project__gt="")
            ),
            models.UniqueConstraint(
                fields=["group", "project"], name="runs_scope_group_project", condition=Q(project__gt="")
            ),
        ]

    def __str__(self) -> str:
        return f"{self.person_id or self.group_id} to {self.name}"

    @property
    def name(self) -> str:
        """Return what it is limited to, as forms and the audit trail say it."""
        return self.agent.name if self.agent is not None else f"{PROJECT}{self.project}"


def seen(user: User | None, agent: str = "agent_version__agent") -> Q:
    """Return the condition under which a row is in this person's scope; `agent` is the row's way to its agent.

    It names versions where the way leads over them: how many runs each has is what the server plans by.
    """
    limit = None if user is None else user.limit()
    if user is None or limit is None:
        return Q()
    way = agent.removesuffix("__agent")
    return Q(**{f"{way}__in": sorted(limit) if way == agent else _versions(user, limit)})


def _versions(user: User, limit: frozenset[int]) -> list[int]:
    """Return the versions of these agents; read once for a person as they were read."""
    known: dict[frozenset[int], list[int]] = user.__dict__.setdefault("_versions", {})
    if limit not in known:
        rows = AgentVersion.objects.filter(agent__in=sorted(limit)).order_by("pk")
        known[limit] = list(rows.values_list("pk", flat=True))
    return known[limit]


def who_see(agent: int) -> Q:
    """Return the condition under which a person has this agent in their scope, for queries over people."""
    own, groups = (
        Scope.objects.filter(person=OuterRef("pk")),
        Scope.objects.filter(group__user=OuterRef("pk")),
    )
    admin = Q(is_superuser=True) | Q(Exists(Group.objects.filter(user=OuterRef("pk"), name=rights.ADMIN)))
    project = Agent.objects.filter(pk=agent, project__gt="").values("project")
    this = Q(agent=agent) | Q(project__in=project)
    either = [Q(~Exists(rows)) | Q(Exists(rows.filter(this))) for rows in (own, groups)]
    return admin | (either[0] & either[1])


def told_of(user: User) -> Callable[[str], bool]:
    """Return whether a switch is there for this person: all, `agent:` theirs, `tool:` that one of theirs has."""
    limit = user.limit()
    if limit is None:
        return lambda what: True
    rows = AgentVersion.objects.filter(agent__in=sorted(limit)).values_list("agent__name", "tools")
    known = {"all"}
    for name, tools in rows:
        known |= {f"agent:{name}", *(f"tool:{tool}" for tool in tools)}
    return lambda what: what.removesuffix(".undo") in known


def within(user: User, agents: Iterable[int]) -> bool:
    """Return whether all of these agents are in the person's scope."""
    limit = user.limit()
    return limit is None or limit.issuperset(agents)
