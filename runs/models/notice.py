"""The outbox: what has happened that somebody may want to know, and each way on which it is told.

The database itself writes a notice, in the transaction that changed a review, a run or the audit chain (migration
"notices"), so that nothing is told that didn't happen, and nothing that did is forgotten.
"""

from __future__ import annotations

import uuid

from django.conf import settings
from django.contrib.postgres.functions import RandomUUID
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runs.models.fields import ExactField


class Notice(models.Model):
    """One event. `event` is its id for whoever is told, the same on each try and each way."""

    event = models.UUIDField(unique=True, db_default=RandomUUID(), editable=False)
    kind = models.CharField(max_length=40)
    review = models.ForeignKey(
        "runs.Review", null=True, on_delete=models.CASCADE, related_name="+", db_constraint=False
    )
    run = models.ForeignKey(
        "runs.Run", null=True, on_delete=models.CASCADE, related_name="+", db_constraint=False, db_index=False
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.SET_NULL,
        related_name="+",
        db_constraint=False,
        db_index=False,
    )
    content = ExactField(default=dict)
    body = ExactField(null=True)  # as programs are told: the same bytes on each try
    once = models.CharField(max_length=60, null=True, unique=True)  # noqa: DJ001  null: may be there many times
    at = models.DateTimeField(db_default=Now(), editable=False)
    spread_at = models.DateTimeField(null=True)  # when it was found out who is told

    class Meta:
        indexes = [
            models.Index(fields=["id"], name="runs_notice_new", condition=Q(spread_at__isnull=True)),
            models.Index(fields=["at"], name="runs_notice_age"),
        ]

    def __str__(self) -> str:
        return f"notice {self.pk} {self.kind}"


class Endpoint(models.Model):
    """An address that is told by a signed request. Its secret follows from the instance key and `salt`: it is nowhere.

    For a while after a rotation both secrets sign.
    """

    url = models.CharField(max_length=500)
    about = models.CharField(max_length=120, blank=True)
    kinds = ExactField(default=list)  # empty: everything
    salt = models.UUIDField(default=uuid.uuid4, editable=False)
    generation = models.PositiveIntegerField(default=1)
    rotated_at = models.DateTimeField(null=True)
    enabled = models.BooleanField(default=True)
    form = models.CharField(max_length=64, unique=True)  # that made it: sent again it makes no second one
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")

    def __str__(self) -> str:
        return f"endpoint {self.pk}"


class Delivery(models.Model):
    """One notice on one way to one target. `next_at` is when it may be tried (again); no lock is held meanwhile."""

    class Channel(models.TextChoices):
        """The ways."""

        PAGE = "page", "In-page"
        EMAIL = "email", "E-mail"
        SLACK = "slack", "Slack"
        WEBHOOK = "webhook", "Webhook"

    class Status(models.TextChoices):
        """How it stands."""

        PENDING = "pending"  # to be sent, or sent again
        SENT = "sent"  # the other side took it
        DROPPED = "dropped"  # by then there was nothing left to tell
        DEAD = "dead"  # tried too often; a person may send it again

    notice = models.ForeignKey(Notice, on_delete=models.CASCADE, related_name="deliveries")
    channel = models.CharField(max_length=10, choices=Channel.choices)
    target = models.CharField(max_length=300)
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        on_delete=models.CASCADE,
        related_name="deliveries",
        db_index=False,
    )
    endpoint = models.ForeignKey(Endpoint, null=True, on_delete=models.CASCADE, related_name="deliveries")
    bundle = models.UUIDField(null=True)  # gathered: what has the same goes out as one
    status = models.CharField(max_length=10, choices=Status.choices, default=Status.PENDING)
    tries = models.PositiveIntegerField(default=0)
    next_at = models.DateTimeField(db_default=Now())
    sent_at = models.DateTimeField(null=True)
    receipt = models.CharField(max_length=300, blank=True)
    error = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["notice", "channel", "target"], name="runs_delivery_one_each"),
            models.CheckConstraint(
                name="runs_delivery_status",
                condition=Q(status__in=["pending", "sent", "dropped", "dead"]),
            ),
            models.CheckConstraint(
                name="runs_delivery_sent_has_time",
                condition=Q(status="sent", sent_at__isnull=False)
                | ~Q(status="sent") & Q(sent_at__isnull=True),
            ),
        ]
        indexes = [
            models.Index(fields=["next_at", "id"], name="runs_delivery_due", condition=Q(status="pending")),
            models.Index(
                fields=["-id"],
                name="runs_delivery_failed",
                condition=Q(status="dead") | Q(status="pending", tries__gt=0) & ~Q(error=""),
            ),
            models.Index(fields=["person", "channel", "-id"], name="runs_delivery_persons"),
        ]

    def __str__(self) -> str:
        return f"delivery {self.pk} {self.channel} {self.status}"


class NoticeSettings(models.Model):
    """What one person wants to be told, how, and when not. No row: the defaults of runs.telling."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notice_settings", primary_key=True
    )
    ways = ExactField(default=dict)  # {row: {channel: "off" | "now" | "gathered"}}
    gather_hours = models.PositiveSmallIntegerField(default=4)
    zone = models.CharField(max_length=60, blank=True)
    quiet_from = models.TimeField(null=True)
    quiet_until = models.TimeField(null=True)
    final_anyway = models.BooleanField(default=True)
    seen = models.PositiveBigIntegerField(default=0)  # the newest in-page delivery that was looked at

    class Meta:
        constraints = [
            models.CheckConstraint(
                name="runs_noticesettings_quiet_has_both",
                condition=Q(quiet_from__isnull=True, quiet_until__isnull=True)
                | Q(quiet_from__isnull=False, quiet_until__isnull=False),
            ),
            models.CheckConstraint(
                name="runs_noticesettings_gather_hours",
                condition=Q(gather_hours__gte=1, gather_hours__lte=24),
            ),
        ]

    def __str__(self) -> str:
        return f"notice settings of {self.person_id}"


class SlackLink(models.Model):
    """Whose Slack account is whose account here: only who is linked can decide there."""

    person = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="slack", primary_key=True
    )
    team = models.CharField(max_length=40, blank=True)
    member = models.CharField(max_length=40, blank=True)
    code = models.CharField(max_length=64, blank=True)  # digest of the one-time code that links
    code_until = models.DateTimeField(null=True)
    linked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["team", "member"], name="runs_slacklink_one_person", condition=~Q(member="")
            ),
        ]

    def __str__(self) -> str:
        return f"Slack member of {self.person_id}"
