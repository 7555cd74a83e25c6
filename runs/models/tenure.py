"""Tenures: which process of which machine held a claim."""

from __future__ import annotations

from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class Tenure(models.Model):
    """The process behind one claim of a run: the newest one, and each that was lost.

    A claim that was handed back leaves nothing to find out, so its row is used again by the next one.
    """

    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="tenures")
    fence = models.PositiveBigIntegerField()
    host = models.CharField(max_length=200)
    pid = models.PositiveIntegerField()
    started = models.CharField(max_length=80)
    alone = models.BooleanField()
    claimed_at = models.DateTimeField(db_default=Now(), editable=False)
    lost_at = models.DateTimeField(null=True)
    gone_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "fence"], name="runs_tenure_fence"),
            models.CheckConstraint(
                name="runs_tenure_gone_was_lost", condition=Q(gone_at__isnull=True) | Q(lost_at__isnull=False)
            ),
        ]
        indexes = [
            models.Index(
                fields=["host"],
                name="runs_tenure_lost",
                condition=Q(lost_at__isnull=False, gone_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"run {self.run_id} fence {self.fence}: process {self.pid}"
