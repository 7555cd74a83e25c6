"""Plans: immutable versions of definitions, and the projection of progress."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from runs import lifecycle
from runs.models.fields import DigestField, ExactField, choices, one_of, values
from runs.models.guards import Guard


class Plan(models.Model):
    """One immutable version of a run's pending work. Progress stands in the log's marks, never here."""

    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="plans")
    version = models.IntegerField()
    steps = ExactField()
    digest = DigestField()
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    reason = models.TextField(blank=True)
    position = models.IntegerField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "version"], name="runs_plan_version")]

    def __str__(self) -> str:
        return f"{self.run_id} plan v{self.version}"


class PlanStep(models.Model):
    """Projection of the current plan: one row a step, so that the next step is found without reading the plan."""

    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="plan_steps")
    order = models.IntegerField()
    key = models.CharField(max_length=120)
    title = models.CharField(max_length=300)
    group = models.CharField(max_length=120, blank=True)
    body = ExactField()
    state = models.CharField(max_length=10, choices=choices(lifecycle.Step), default=lifecycle.Step.PENDING)
    reply_position = models.IntegerField(null=True)
    call_index = models.IntegerField(null=True)
    result_position = models.IntegerField(null=True)

    class Meta:
        constraints = [
            Guard(
                name="runs_planstep_rules",
                rules={
                    "runs_planstep_state": one_of("state", lifecycle.Step),
                },
            ),
            models.UniqueConstraint(fields=["run", "key"], name="runs_planstep_key"),
            models.UniqueConstraint(
                fields=["run", "order"], name="runs_planstep_order", deferrable=models.Deferrable.DEFERRED
            ),
        ]
        indexes = [
            models.Index(
                fields=["run", "order"],
                name="runs_planstep_open",
                condition=~models.Q(state__in=values(lifecycle.STEP_CLOSED)),
            ),
            models.Index(fields=["run", "group"], name="runs_planstep_group"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.key}"
