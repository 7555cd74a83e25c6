"""Runs of other sites, as their files tell them: records to read, which nothing carries out or goes on from."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from runs import lifecycle
from runs.models.fields import DigestField, ExactField, choices


class ImportedRun(models.Model):
    """One file of a run, as it was read. Never changed.

    A table apart from the runs of this site: it is never due, owns no effect and absorbs none. `about` is the file's
    first line; what is searched for stands beside it.
    """

    source = models.CharField(max_length=200)  # the name of the file
    number = models.BigIntegerField()  # of the run where it comes from
    title = models.CharField(max_length=200)
    agent = models.CharField(max_length=100)
    status = models.CharField(max_length=10, choices=choices(lifecycle.Run))
    lines = models.IntegerField()
    head = DigestField()
    file_digest = DigestField()
    about = ExactField()
    imported_at = models.DateTimeField(db_default=Now(), editable=False)
    imported_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["head"], name="runs_importedrun_once")]

    def __str__(self) -> str:
        return f"imported run {self.pk}"


class ImportedLine(models.Model):
    """One line of such a file; `holder` is the run, of those on its path, whose log it stands in."""

    run = models.ForeignKey(ImportedRun, on_delete=models.PROTECT, related_name="entries", db_index=False)
    holder = models.BigIntegerField()
    position = models.IntegerField()
    kind = models.CharField(max_length=12)
    content = ExactField()
    head = DigestField()
    number = models.IntegerField(null=True)
    boundary = models.CharField(max_length=20, null=True)  # noqa: DJ001 null is "no checkpoint"
    counters = ExactField(null=True)
    created_at = models.DateTimeField()  # where it comes from

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "position"], name="runs_importedline_position")]

    def __str__(self) -> str:
        return f"imported {self.run_id}/{self.position} {self.kind}"
