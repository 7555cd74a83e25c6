"""Actions: the ledger lines of proposed effects, and their append-only revisions."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from runs import lifecycle
from runs.models import log
from runs.models.fields import DigestField, ExactField, choices, one_of, values
from runs.models.guards import Guard


class Action(models.Model):
    """One proposed effect: a projection of the log, named by (reply position, call index).

    The first revision's arguments stand in the reply, the receipt in the result at `receipt_position`: once each.
    """

    # Rows of the hot path name others without constraints and indexes of their own: the verifier compares them all.
    run = models.ForeignKey(
        "runs.Run", on_delete=models.PROTECT, related_name="actions", db_constraint=False, db_index=False
    )
    reply_position = models.IntegerField()
    call_index = models.IntegerField()
    step = models.CharField(max_length=120, blank=True)
    tool = models.CharField(max_length=120)
    contract = DigestField()
    effect = models.CharField(max_length=12)
    tier = models.SmallIntegerField()
    protection = models.CharField(max_length=12)
    status = models.CharField(max_length=12, choices=choices(lifecycle.Action))

    revision = models.IntegerField(default=1)
    digest = DigestField()
    identity = ExactField()
    identity_digest = DigestField()
    declaration = DigestField()
    proposed_identity = DigestField(
        null=True
    )  # what was proposed, where a person's edit made it something else

    verdict = models.CharField(max_length=10, blank=True)
    rule = models.CharField(max_length=120, blank=True)
    terms = ExactField()
    policy_version = models.ForeignKey(
        "runs.PolicyVersion",
        null=True,
        on_delete=models.PROTECT,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    approval_digest = DigestField(blank=True)
    preview = ExactField(null=True)
    precondition = ExactField(null=True)
    not_before = models.DateTimeField(null=True)
    duplicate_of = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False
    )
    blocked_by = models.ForeignKey(
        "runs.Occurrence",
        null=True,
        on_delete=models.PROTECT,
        related_name="blocks",
        db_constraint=False,
        db_index=False,
    )
    retry_of = models.ForeignKey(
        "self", null=True, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False
    )
    undo_of = models.ForeignKey(
        "runs.Occurrence",
        null=True,
        on_delete=models.PROTECT,
        related_name="undos",
        db_constraint=False,
        db_index=False,
    )

    occurrence = models.ForeignKey(
        "runs.Occurrence",
        null=True,
        on_delete=models.PROTECT,
        related_name="actions",
        db_constraint=False,
        db_index=False,
    )
    attempt = models.IntegerField(default=0)
    evidence_number = models.IntegerField(default=0)
    receipt_position = models.IntegerField(null=True)
    error = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    closed_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            Guard(
                name="runs_action_rules",
                rules={
                    "runs_action_status": one_of("status", lifecycle.Action),
                    "runs_action_intent_has_occurrence": ~models.Q(
                        status__in=values(lifecycle.ACTION_UNSETTLED)
                    )
                    | models.Q(occurrence__isnull=False),
                    "runs_action_tier": models.Q(tier__lte=3),
                },
            ),
            models.UniqueConstraint(fields=["run", "reply_position", "call_index"], name="runs_action_call"),
        ]
        # None over a status or anything else that changes: a step's update stays on its page and enters no index.
        indexes = [
            models.Index(fields=["run", "identity_digest"], name="runs_action_identity"),
            models.Index(
                fields=["undo_of"], name="runs_action_undo", condition=models.Q(undo_of__isnull=False)
            ),
            models.Index(
                fields=["run", "proposed_identity"],
                name="runs_action_corrected",
                condition=models.Q(proposed_identity__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"action {self.pk} {self.tool}"

    def arguments(self) -> Any:
        """Return the current revision's arguments: from the reply that proposed it, or as a person changed them."""
        if self.revision > 1:
            return self.revisions.get(number=self.revision).arguments
        own = log.Entry.objects.filter(run_id=self.run_id)
        reply = own.filter(position=self.reply_position, kind=lifecycle.EntryKind.REPLY).first()
        if reply is not None:
            return reply.content["calls"][self.call_index]["arguments"]
        # Its reply is an ancestor's: the call was opened again, in a line of this run's own.
        call = [self.reply_position, self.call_index]
        opened = own.filter(kind=lifecycle.EntryKind.CALL).order_by("position")
        return next(line.content["arguments"] for line in opened if line.content["call"] == call)


class Revision(models.Model):
    """A later version of an action's arguments, exact, by a person. Append-only; the first stands in the reply."""

    action = models.ForeignKey(Action, on_delete=models.PROTECT, related_name="revisions", db_index=False)
    number = models.IntegerField()
    arguments = ExactField()
    digest = DigestField()
    author = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    reason = models.TextField(blank=True)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["action", "number"], name="runs_revision_number")]

    def __str__(self) -> str:
        return f"action {self.action_id} revision {self.number}"
