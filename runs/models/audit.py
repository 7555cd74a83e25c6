"""The audit chain of acts of people and policies, and what was refused to them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from runs import exact
from runs.models.fields import DigestField, ExactField


class AuditHead(models.Model):
    """The one row that every append locks last, so that the chain can't fork."""

    id = models.PositiveSmallIntegerField(primary_key=True, default=1)
    seq = models.PositiveBigIntegerField(default=0)
    hash = DigestField(default=exact.EMPTY)

    class Meta:
        constraints = [models.CheckConstraint(name="runs_audithead_single", condition=models.Q(id=1))]

    def __str__(self) -> str:
        return f"audit head {self.seq}"


class AuditEvent(models.Model):
    """One act: who, what, on which object and bytes, why, from where. Written in the act's own transaction."""

    seq = models.PositiveBigIntegerField(primary_key=True)
    at = models.DateTimeField()
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    on_behalf_of = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    act = models.CharField(max_length=40)
    run = models.ForeignKey(
        "runs.Run", null=True, on_delete=models.PROTECT, related_name="audit_events", db_index=False
    )
    subject = models.CharField(max_length=80)
    content = ExactField()
    policy_version = models.ForeignKey(
        "runs.PolicyVersion", null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )  # that was in force
    seen = DigestField(null=True)  # of the card that the person had before them
    channel = models.CharField(max_length=20)
    ip = models.GenericIPAddressField(null=True)
    previous = DigestField()
    hash = DigestField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["previous"], name="runs_auditevent_chain")]
        # What the audit page is narrowed by, each with the order in which it lists.
        indexes = [
            models.Index(fields=["run", "seq"], name="runs_auditevent_run"),
            models.Index(fields=["actor", "seq"], name="runs_auditevent_actor"),
            models.Index(fields=["act", "seq"], name="runs_auditevent_act"),
            models.Index(fields=["subject", "seq"], name="runs_auditevent_subject"),
            models.Index(fields=["channel", "seq"], name="runs_auditevent_channel"),
            models.Index(fields=["at", "seq"], name="runs_auditevent_at"),
        ]

    def __str__(self) -> str:
        return f"audit {self.seq} {self.act}"


class Refusal(models.Model):
    """One attempt that was refused: who tried what, through which door, and why not. Append-only.

    Not in the chain itself, whose head nobody outside shall be able to stall: the clock puts a digest of each batch of
    them there.
    """

    at = models.DateTimeField(db_default=Now(), editable=False)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    on_behalf_of = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+", db_index=False
    )
    act = models.CharField(max_length=40)
    code = models.CharField(max_length=20)
    reason = models.TextField()
    # No constraint: it may name a run that isn't there.
    run = models.ForeignKey(
        "runs.Run", null=True, on_delete=models.PROTECT, related_name="+", db_constraint=False, db_index=False
    )
    subject = models.CharField(max_length=80)
    channel = models.CharField(max_length=20)
    ip = models.GenericIPAddressField(null=True)

    class Meta:
        indexes = [
            models.Index(fields=["run", "id"], name="runs_refusal_run"),
            models.Index(fields=["actor", "id"], name="runs_refusal_actor"),
            models.Index(fields=["act", "id"], name="runs_refusal_act"),
            models.Index(fields=["subject", "id"], name="runs_refusal_subject"),
            models.Index(fields=["channel", "id"], name="runs_refusal_channel"),
            models.Index(fields=["at", "id"], name="runs_refusal_at"),
            models.Index(fields=["ip", "at"], name="runs_refusal_ip"),
        ]

    def __str__(self) -> str:
        return f"refusal {self.pk} {self.act}"
