"""What people put on the desk beside the questions: who has put one off, and who has one now. No run waits on these."""

from __future__ import annotations

import datetime

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runs.models.review import Review

SPANS: dict[str, tuple[str, datetime.timedelta | None]] = {
    "20m": ("20 minutes", datetime.timedelta(minutes=20)),
    "1h": ("An hour", datetime.timedelta(hours=1)),
    "4h": ("4 hours", datetime.timedelta(hours=4)),
    "1d": ("A day", datetime.timedelta(days=1)),
    "due": ("Until it is due", None),
}
"""For how long a question can be put off: words, and the span; None is until it is due."""


class Snooze(models.Model):
    """One person has put a question off until a time; for everybody else it stays where it is.

    It ends by its time alone; `told` says that open pages were hinted at that.
    """

    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="snoozes", db_index=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="snoozes")
    until = models.DateTimeField()
    told = models.BooleanField(default=False)
    set_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["review", "person"], name="runs_snooze_one_each"),
        ]
        indexes = [
            models.Index(fields=["until"], name="runs_snooze_untold", condition=Q(told=False)),
        ]

    def __str__(self) -> str:
        return f"review {self.review_id} for {self.person_id} until {self.until}"

    @staticmethod
    def end(review: Review, span: str, now: datetime.datetime) -> datetime.datetime | None:
        """Return until when `span` puts the question off; None where it would be over by then, or is due now."""
        length = SPANS[span][1]
        until = review.due_at if length is None else now + length
        open_still = review.expires_at is None or until < review.expires_at
        return until if open_still and until > now else None


class Handover(models.Model):
    """Whose question it is now, from whom, and why. It locks nobody out, and handing it on replaces it."""

    review = models.OneToOneField(Review, on_delete=models.CASCADE, related_name="handover")
    to = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="handed")
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    note = models.TextField(blank=True)
    at = models.DateTimeField(db_default=Now())

    def __str__(self) -> str:
        return f"review {self.review_id} with {self.to_id}"


class SavedView(models.Model):
    """A narrowing of the inbox under a name, for its owner alone or for everybody."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="views")
    name = models.CharField(max_length=60)
    query = models.CharField(max_length=1000)
    shared = models.BooleanField(default=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="runs_savedview_one_name"),
        ]
        indexes = [
            models.Index(fields=["name"], name="runs_savedview_shared", condition=Q(shared=True)),
        ]

    def __str__(self) -> str:
        return f"{self.name} of {self.owner_id}"
