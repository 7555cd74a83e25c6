"""The one row about this installation."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from runs.models.fields import ExactField


class Installation(models.Model):
    """What every gate reads: the policy in force, the switches and the gate epoch.

    Whatever narrows what may run raises `gate_epoch` first, so that an intent evaluated under an older epoch is
    refused.
    """

    EVERYBODY = "all"
    """Key in `budgets` of what all runs together may use in a day."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    gate_epoch = models.BigIntegerField(default=1)
    policy_version = models.ForeignKey(
        "runs.PolicyVersion", null=True, on_delete=models.PROTECT, related_name="+"
    )
    paused_all = models.BooleanField(default=False)
    switches = ExactField(default=dict)
    """What is switched off: "all", "agent:<name>" or "tool:<name>", each with who, why and since when."""
    budgets = ExactField(default=dict)
    """The limits per day that people have set: of an agent under its number, and of everybody together."""
    declared = ExactField(default=dict)
    """The limits per day that the versions in use of agents declare, under each agent's number."""
    system = models.CharField(max_length=120, blank=True)
    restored = models.BooleanField(default=False)
    restored_at = models.DateTimeField(null=True)
    restored_why = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.CheckConstraint(name="runs_installation_single", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return f"epoch {self.gate_epoch}"

    def paused(self, kind: str) -> frozenset[str]:
        """Return the names of the agents, or of the tools, that are switched off."""
        return frozenset(
            name for what, _, name in (key.partition(":") for key in self.switches) if what == kind
        )

    @property
    def day_limits(self) -> dict[str, Any]:
        """Return what agents, and everybody, may use in a day: what people have set goes before what is declared."""
        return {**self.declared, **self.budgets}

    @property
    def halted(self) -> bool:
        """Whether no effect may start anywhere: somebody paused everything, or the database was restored."""
        return self.paused_all or self.restored
