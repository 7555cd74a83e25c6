"""Agents and their pinned versions."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from runs.models.fields import DigestField, ExactField
from runs.providers import declared


class Agent(models.Model):
    """A named agent; what it does stands in its versions."""

    name = models.SlugField(max_length=80, unique=True)
    title = models.CharField(max_length=200)
    project = models.SlugField(max_length=80, blank=True)
    """What it belongs to, with others; who may see them can be said of all at once."""
    current = models.ForeignKey("runs.AgentVersion", null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.name


class AgentVersion(models.Model):
    """One immutable version: provider, model, instructions, tools and definition. A run pins one."""

    agent = models.ForeignKey(Agent, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    provider = models.CharField(max_length=80)
    model = models.CharField(max_length=200, blank=True)
    instructions = models.TextField(blank=True)
    tools = ExactField()
    definition = ExactField()
    input_schema = ExactField()
    budget = ExactField()
    ordered = models.BooleanField(default=False)  # calls of one reply one after the other
    approve_plan = models.BooleanField(default=False)  # a person reads the plan before anything starts
    digest = DigestField()
    reason = models.TextField(blank=True)  # why a person made it
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "number"], name="runs_agentversion_number"),
            models.UniqueConstraint(fields=["agent", "digest"], name="runs_agentversion_digest"),
        ]

    def __str__(self) -> str:
        return f"{self.agent.name} v{self.number}"

    def declared(self) -> declared.Agent:
        """Return the version as an agent is declared."""
        limits = dict(self.budget)
        per_day = limits.pop("day", {})
        return declared.Agent(
            name=self.agent.name,
            title=self.agent.title,
            project=self.agent.project,
            provider=self.provider,
            model=self.model,
            instructions=self.instructions,
            tools=tuple(self.tools),
            definition=self.definition,
            input_schema=self.input_schema,
            budget=limits,
            per_day=per_day,
            ordered=self.ordered,
            approve_plan=self.approve_plan,
        )
