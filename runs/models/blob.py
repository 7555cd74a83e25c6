"""Bytes, named by their digest."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now

from runs.models.fields import DigestField

MAX_SIZE = 25 * 1024 * 1024


class Blob(models.Model):
    """Content kept once per digest: input files, attachments, copies."""

    sha256 = DigestField(primary_key=True)
    size = models.PositiveIntegerField()
    content = models.BinaryField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.CheckConstraint(name="runs_blob_size", condition=models.Q(size__lte=MAX_SIZE))]

    def __str__(self) -> str:
        return str(self.sha256)[:12]
