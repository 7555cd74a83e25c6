"""Rehearsals: what edited arguments would do, worked out by a worker before anybody saves them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from runs.models.fields import DigestField, ExactField


class Rehearsal(models.Model):
    """One person's newest try of other arguments for a question. It decides nothing, and the next try replaces it."""

    review = models.ForeignKey("runs.Review", on_delete=models.PROTECT, related_name="rehearsals")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    arguments = ExactField()
    digest = DigestField()
    shown = ExactField()
    asked_at = models.DateTimeField(db_default=Now(), editable=False)
    done_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["review", "by"], name="runs_rehearsal_newest")]

    def __str__(self) -> str:
        return f"rehearsal {self.pk} of review {self.review_id}"
