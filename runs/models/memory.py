"""What agents remember beyond their runs: notes, each with all its versions."""

from __future__ import annotations

from django.conf import settings
from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now


class MemoryNote(models.Model):
    """One note of an agent about a subject, as it is now; an empty text was taken away."""

    agent = models.ForeignKey("runs.Agent", on_delete=models.PROTECT, related_name="notes")
    subject = models.CharField(max_length=200, blank=True)
    name = models.CharField(max_length=120)
    text = models.TextField(blank=True)
    version = models.PositiveIntegerField()
    words = SearchVectorField()
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["agent", "subject", "name"], name="runs_memorynote_name"),
        ]
        indexes = [
            GinIndex(fields=["words"], name="runs_memorynote_words"),
            models.Index(fields=["agent", "-changed_at", "-id"], name="runs_memorynote_newest"),
        ]

    def __str__(self) -> str:
        return f"note {self.pk}"


class MemoryVersion(models.Model):
    """One version of a note: what it said, and who wrote it. Never changed."""

    note = models.ForeignKey(MemoryNote, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    key = models.CharField(max_length=64, null=True, unique=True)  # noqa: DJ001 of the effect; a person has none
    run = models.ForeignKey("runs.Run", null=True, on_delete=models.PROTECT, related_name="+")
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    reason = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["note", "number"], name="runs_memoryversion_number"),
            models.CheckConstraint(
                name="runs_memoryversion_writer",
                condition=Q(run__isnull=False, key__isnull=False, author__isnull=True)
                | Q(run__isnull=True, key__isnull=True, author__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"note {self.note_id} version {self.number}"
