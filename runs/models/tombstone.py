"""Tombstones: what stays to be said of a run of which something was erased."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models import Q

from runs import exact
from runs.models.fields import ExactField
from runs.models.run import Run


class Tombstone(models.Model):
    """One for each part of a run that was erased; the audit chain names its digest, and it is never changed.

    Only where there is one, and until `cleared_at`, the database lets rows of that part go: what is erased was told
    of before.
    """

    class Part(models.TextChoices):
        """What is erased; each has a clock of its own, and comes after the one before it."""

        PAYLOADS = "payloads"
        """Contents: input, log lines, plan, edits, facts, what questions showed. Digests stay."""
        TIMELINE = "timeline"
        """The lines of the log themselves."""
        RECEIPTS = "receipts"
        """Effects, with key and receipt, and the actions that nobody was asked about."""

    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="tombstones", db_index=False)
    part = models.CharField(max_length=10, choices=Part.choices)
    content = ExactField()
    cleared_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "part"], name="runs_tombstone_one"),
            models.CheckConstraint(
                name="runs_tombstone_part", condition=Q(part__in=["payloads", "timeline", "receipts"])
            ),
        ]
        indexes = [
            models.Index(fields=["id"], name="runs_tombstone_open", condition=Q(cleared_at__isnull=True))
        ]

    told = 0
    """Number of the audit event that names it, where the verifier has read it."""

    def __str__(self) -> str:
        return f"{self.part} of run {self.run_id}"


def erased(digest: str) -> dict[str, str]:
    """Return what stands in the place of a content of this digest."""
    return {"erased": digest}


def digest_left(content: Any) -> str | None:
    """Return the digest that stands in the place of an erased content, None where the content is there."""
    if isinstance(content, dict) and content.keys() == {"erased"} and exact.is_digest(content["erased"]):
        return str(content["erased"])
    return None


def is_erased(run: Run) -> bool:
    """Return whether something of the run was erased: its contents are the first to go."""
    left: bool = digest_left(run.input) == run.input_digest
    return left
