"""What people have set as the limits of a day, in immutable versions."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runs.models.fields import ExactField


class DayBudget(models.Model):
    """One version of what an agent, or everybody together, may use in a day; a measure that isn't in it is free.

    The installation holds the newest one of each; the first goes before what definition and settings say.
    """

    agent = models.ForeignKey(
        "runs.Agent", null=True, on_delete=models.PROTECT, related_name="day_budgets", db_index=False
    )
    number = models.PositiveIntegerField()
    limits = ExactField()
    reason = models.TextField()
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "number"], name="runs_daybudget_of_agent"),
            models.UniqueConstraint(
                fields=["number"], name="runs_daybudget_of_everybody", condition=Q(agent__isnull=True)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.agent or 'everybody'} v{self.number}"
