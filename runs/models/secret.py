"""Secrets that agents may name and never see."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runs.models.fields import ExactField


class Secret(models.Model):
    """One secret: where its value comes from, and which agents may have it filled in for which tools.

    A value that is kept here is encrypted under a key that isn't in the database, bound to its name.
    """

    class Source(models.TextChoices):
        """Where the value comes from, at each use."""

        TABLE = "table"
        ENVIRONMENT = "environment"
        FILE = "file"

    name = models.CharField(max_length=80, unique=True)
    source = models.CharField(max_length=11, choices=Source.choices)
    place = models.CharField(max_length=500, blank=True)  # the variable's name, or the file's path
    key_id = models.CharField(max_length=16, blank=True)
    sealed = models.BinaryField(null=True)
    uses = ExactField()
    """Pairs of an agent's name, or "*", and a tool's name, or "tool:argument"."""
    changed_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    changed_at = models.DateTimeField(db_default=Now())
    used_at = models.DateTimeField(null=True)  # last filled in, to within a minute

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="runs_secret_has_source",
                condition=Q(source="table", sealed__isnull=False, place="") & ~Q(key_id="")
                | Q(source__in=["environment", "file"], sealed__isnull=True, key_id="") & ~Q(place=""),
            )
        ]

    def __str__(self) -> str:
        return f"secret://{self.name}"
