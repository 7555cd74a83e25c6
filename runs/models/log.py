"""The run's one append-only log, the checkpoints in it, and the facts that others leave for it."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runs import lifecycle
from runs.models.fields import DigestField, ExactField, choices, one_of
from runs.models.guards import Guard


class Entry(models.Model):
    """One immutable line of a run's log.

    `head` chains the digest of its content to the line before. A line at a boundary is a checkpoint: it carries
    number, boundary and counters; its state is the fold of the path's lines up to here.
    """

    # No constraint in the database: the verifier finds an entry without its run, and each step would pay for it.
    run = models.ForeignKey(
        "runs.Run", on_delete=models.PROTECT, related_name="entries", db_constraint=False, db_index=False
    )
    position = models.IntegerField()
    kind = models.CharField(max_length=12, choices=choices(lifecycle.EntryKind))
    content = ExactField()
    head = DigestField()
    number = models.IntegerField(null=True)
    boundary = models.CharField(max_length=20, null=True, choices=choices(lifecycle.Boundary))  # noqa: DJ001 null is "no checkpoint"
    counters = ExactField(null=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name_plural = "entries"
        constraints = [
            Guard(
                name="runs_entry_rules",
                rules={
                    "runs_entry_kind": one_of("kind", lifecycle.EntryKind),
                    "runs_entry_checkpoint_whole": Q(
                        number__isnull=True, boundary__isnull=True, counters__isnull=True
                    )
                    | Q(number__isnull=False, boundary__isnull=False, counters__isnull=False),
                },
            ),
            models.UniqueConstraint(fields=["run", "position"], name="runs_entry_position"),
            models.UniqueConstraint(
                fields=["run", "number"], name="runs_entry_checkpoint", condition=Q(number__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.run_id}/{self.position} {self.kind}"


class CheckpointManager(models.Manager["Checkpoint"]):
    """Only the entries at a boundary."""

    def get_queryset(self) -> models.QuerySet[Checkpoint]:
        """Return the checkpoints."""
        return super().get_queryset().filter(number__isnull=False)


class Checkpoint(Entry):
    """A resumable point of a run: the entry at a boundary."""

    objects: ClassVar[CheckpointManager] = CheckpointManager()

    class Meta:
        proxy = True


class Fact(models.Model):
    """What somebody other than the claimed engine left for a run: decision, expiry, evidence, usage, hold, stop, retry.

    `number` is the run's inbox number that it raised; the engine folds each into the log once, in this order.
    """

    class Kind(models.TextChoices):
        """What was left."""

        DECISION = "decision"
        EXPIRED = "expired"
        EVIDENCE = "evidence"
        HOLD = "hold"
        RESUME = "resume"
        STOP = "stop"
        RETRY = "retry"
        WITHDRAWN = "withdrawn"
        WAKE = "wake"
        USAGE = "usage"
        PLAN_EDIT = "plan_edit"
        EDITED = "edited"
        UNDO = "undo"
        POLICY = "policy"

    run = models.ForeignKey("runs.Run", on_delete=models.PROTECT, related_name="facts")
    number = models.IntegerField()
    kind = models.CharField(max_length=10, choices=Kind.choices)
    content = ExactField()
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "number"], name="runs_fact_number")]

    def __str__(self) -> str:
        return f"{self.run_id} inbox {self.number} {self.kind}"
