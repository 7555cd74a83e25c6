"""What a run started with: the contracts of its tools, its provider and the plan's format. Immutable, by digest."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from runs.models.fields import DigestField, ExactField

PLAN_FORMAT = 1
"""Format number of the plans that this code writes and reads."""


class Contract(models.Model):
    """What a tool once promised, kept so that it can be said later what is different now."""

    digest = DigestField(primary_key=True)
    tool = models.CharField(max_length=120)
    content = ExactField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return f"{self.tool} {str(self.digest)[:12]}"


class Pins(models.Model):
    """One set: {"tools": {name: contract digest or null}, "provider": name, "plan": format}."""

    digest = DigestField(primary_key=True)
    content = ExactField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name_plural = "pins"

    def __str__(self) -> str:
        return str(self.digest)[:12]
