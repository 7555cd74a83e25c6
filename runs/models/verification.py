"""Reading effects back: whether the world holds what a receipt says. It changes no outcome by itself."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runs.models.occurrence import Occurrence


class Verification(models.Model):
    """One look at one effect, answered once by a worker. The newest answer also stands on the occurrence."""

    class Outcome(models.TextChoices):
        """What was found."""

        HOLDS = "holds"  # what the receipt says is there
        DIFFERS = "differs"  # it isn't, or it is something else
        UNREADABLE = "unreadable"  # nobody could look

    occurrence = models.ForeignKey(Occurrence, on_delete=models.PROTECT, related_name="verifications")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    outcome = models.CharField(max_length=20, blank=True, choices=Outcome.choices)
    said = models.TextField(blank=True)
    asked_at = models.DateTimeField(db_default=Now(), editable=False)
    hinted_at = models.DateTimeField(db_default=Now())
    done_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["occurrence"], name="runs_verification_one_open", condition=Q(done_at__isnull=True)
            ),
            models.CheckConstraint(
                name="runs_verification_done_says",
                condition=Q(done_at__isnull=True, outcome="") | Q(done_at__isnull=False) & ~Q(outcome=""),
            ),
        ]
        indexes = [
            models.Index(
                fields=["hinted_at"], name="runs_verification_open", condition=Q(done_at__isnull=True)
            )
        ]

    def __str__(self) -> str:
        return f"occurrence {self.occurrence_id}: {self.outcome or 'being read back'}"
