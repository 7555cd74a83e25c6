"""The audit chain of acts of people and policies."""

from __future__ import annotations

from django.conf import settings
from django.db import models

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
    actor = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+")
    act = models.CharField(max_length=40)
    run = models.ForeignKey("runs.Run", null=True, on_delete=models.PROTECT, related_name="audit_events")
    subject = models.CharField(max_length=80)
    content = ExactField()
    channel = models.CharField(max_length=20)
    ip = models.GenericIPAddressField(null=True)
    previous = DigestField()
    hash = DigestField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["previous"], name="runs_auditevent_chain")]

    def __str__(self) -> str:
        return f"audit {self.seq} {self.act}"
