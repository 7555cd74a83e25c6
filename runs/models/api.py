"""What programs come with: tokens of people, and what became of each request under its idempotency key."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now

from runs import rights
from runs.models.fields import DigestField

_MACHINE = "|".join(sorted(rights.MACHINE_ACTS))


class ApiToken(models.Model):
    """A person's token. Only its digest is kept: 256 random bits need no slow hash, and nobody can read them here."""

    class Kind(models.TextChoices):
        """Who acts with it."""

        PERSON = "person", "Me, in a script of my own"
        AGENT = "agent", "An agent"
        SERVICE = "service", "Another service"

    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="tokens")
    name = models.CharField(max_length=60)
    kind = models.CharField(max_length=10, choices=Kind.choices)
    prefix = models.CharField(max_length=12)  # what people tell it by
    digest = DigestField(unique=True)
    scopes = models.CharField(max_length=200)  # acts with blanks between them, sorted
    form = models.CharField(
        max_length=64, unique=True
    )  # the form that made it: sent again it makes no second one
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    revoked_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        constraints = [
            models.CheckConstraint(name="runs_apitoken_ends", condition=Q(expires_at__gt=F("created_at"))),
            models.CheckConstraint(
                name="runs_apitoken_revoked_by_somebody",
                condition=Q(revoked_at__isnull=True, revoked_by__isnull=True)
                | Q(revoked_at__isnull=False, revoked_by__isnull=False),
            ),
            models.CheckConstraint(
                name="runs_apitoken_machine_never_decides",
                condition=Q(kind="person") | Q(scopes__regex=f"^({_MACHINE})( ({_MACHINE}))*$"),
            ),
        ]

    def __str__(self) -> str:
        return f"token {self.prefix} of {self.person_id}"

    @property
    def acts(self) -> frozenset[rights.Act]:
        """Return what it is for, never more than its kind can ever do."""
        known = rights.TOKEN_ACTS if self.kind == self.Kind.PERSON else rights.MACHINE_ACTS
        return frozenset(act for act in known if str(act) in self.scopes.split())

    def named(self) -> dict[str, Any]:
        """Return what the audit trail says of it, beside the person on whose behalf it acted."""
        return {"id": self.pk, "name": self.name, "kind": self.kind, "prefix": self.prefix}


class ApiCall(models.Model):
    """One request that changes something, under its idempotency key: claimed, then done, then answered.

    Whoever carries it out holds `attempt`. The act's own transaction sets `done` and the run, and only while that
    attempt is theirs; so a request is carried out once, and what it did is known even if its answer was never stored.
    """

    token = models.ForeignKey(ApiToken, on_delete=models.PROTECT, related_name="calls", db_index=False)
    key = models.CharField(max_length=255)
    request = DigestField()
    attempt = models.PositiveIntegerField(default=1)
    claimed_at = models.DateTimeField(db_default=Now())
    done = models.BooleanField(default=False)
    run = models.ForeignKey("runs.Run", null=True, on_delete=models.PROTECT, related_name="+", db_index=False)
    code = models.PositiveSmallIntegerField(null=True)  # of the answer
    body = models.TextField(blank=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["token", "key"], name="runs_apicall_one_key"),
            models.CheckConstraint(
                name="runs_apicall_answered_is_done", condition=Q(code__isnull=True) | Q(done=True)
            ),
        ]
        indexes = [models.Index(fields=["claimed_at"], name="runs_apicall_age")]

    def __str__(self) -> str:
        return f"call {self.key} of token {self.token_id}"
