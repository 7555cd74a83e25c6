"""The one row about this installation."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class Installation(models.Model):
    """What every gate reads: the policy in force, the switches and the gate epoch.

    Whatever narrows what may run raises `gate_epoch` first, so that an intent evaluated under an older epoch is
    refused.
    """

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    gate_epoch = models.BigIntegerField(default=1)
    policy_version = models.ForeignKey(
        "runs.PolicyVersion", null=True, on_delete=models.PROTECT, related_name="+"
    )
    paused_all = models.BooleanField(default=False)
    system = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.CheckConstraint(name="runs_installation_single", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return f"epoch {self.gate_epoch}"
