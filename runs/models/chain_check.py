"""Checks of the audit chain that somebody asked for; the clock does them a piece at a time."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from runs import exact
from runs.models.fields import DigestField


class ChainCheck(models.Model):
    """One check: from which line, how far it has come, and what it found."""

    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(db_default=Now(), editable=False)
    first = models.PositiveBigIntegerField(default=0)  # the line before the first that is checked
    seq = models.PositiveBigIntegerField(default=0)  # the last line that agrees
    hash = DigestField(default=exact.EMPTY)
    broken = models.TextField(blank=True)
    ended_at = models.DateTimeField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["id"], name="runs_chaincheck_open", condition=models.Q(ended_at__isnull=True)
            )
        ]

    def __str__(self) -> str:
        return f"check of the audit chain to {self.seq}"
