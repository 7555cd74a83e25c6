"""Occurrences: what is true of the world, whichever attempt's action did it; and late evidence."""

from __future__ import annotations

from django.contrib.postgres.indexes import HashIndex
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runs import lifecycle
from runs.models.fields import DigestField, ExactField, choices, one_of
from runs.models.guards import Guard


class Occurrence(models.Model):
    """One logical effect of a lineage. Its key is computed once, stored, and never seen or chosen by a model."""

    root = models.ForeignKey(
        "runs.Run", on_delete=models.PROTECT, related_name="occurrences", db_constraint=False, db_index=False
    )
    tool = models.CharField(max_length=120)
    identity = ExactField()
    identity_digest = DigestField()
    declaration = DigestField()
    n = models.IntegerField()
    key = DigestField()  # of root, tool, identity and n, which are unique together
    state = models.CharField(max_length=10, choices=choices(lifecycle.Occurrence))
    owner = models.ForeignKey(
        "runs.Action",
        on_delete=models.PROTECT,
        related_name="owned_occurrences",
        db_constraint=False,
        db_index=False,
    )
    earlier_keys = ExactField(null=True)  # the provider keeps a failure under them; never used again
    first_sent_at = models.DateTimeField(null=True)
    horizon = models.DateTimeField()
    receipt_position = models.IntegerField(null=True)  # in the log of the owner's run
    receipt = ExactField(null=True)  # only where it was learnt outside the log
    verification = models.CharField(max_length=20, blank=True)
    contradicted = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    settled_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            Guard(
                name="runs_occurrence_rules",
                rules={
                    "runs_occurrence_state": one_of("state", lifecycle.Occurrence),
                },
            ),
            models.UniqueConstraint(
                fields=["root", "tool", "identity_digest", "n"], name="runs_occurrence_number"
            ),
        ]
        # Rare, and looked for among all of them.
        indexes = [
            models.Index(fields=["id"], name="runs_occurrence_contradicted", condition=Q(contradicted=True)),
            # By which policy finds the same in other pieces of work; of the hash alone: it is in every row.
            HashIndex(fields=["identity_digest"], name="runs_occurrence_same"),
        ]

    def __str__(self) -> str:
        return f"{self.tool} {self.identity_digest[:8]} #{self.n}"

    def all_keys(self) -> list[str]:
        """Return every key under which this was ever sent, the oldest first."""
        return [*(self.earlier_keys or []), self.key]


class Evidence(models.Model):
    """What was learnt about an attempt outside the fence. Append-only."""

    class Outcome(models.TextChoices):
        """What the attempt did."""

        HAPPENED = "happened"
        DID_NOT_HAPPEN = "did_not_happen"

    action = models.ForeignKey("runs.Action", on_delete=models.PROTECT, related_name="evidence")
    number = models.IntegerField()
    attempt = models.IntegerField()
    outcome = models.CharField(max_length=16, choices=Outcome.choices)
    source = models.CharField(max_length=20)
    content = ExactField()
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        verbose_name_plural = "evidence"
        constraints = [models.UniqueConstraint(fields=["action", "number"], name="runs_evidence_number")]

    def __str__(self) -> str:
        return f"action {self.action_id} attempt {self.attempt}: {self.outcome}"
