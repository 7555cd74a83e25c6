"""Policies: ordered rules, in immutable versions."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

from runs.models.fields import DigestField, ExactField


class Policy(models.Model):
    """A named policy; the installation points at the version in force."""

    name = models.SlugField(max_length=80, unique=True)

    class Meta:
        verbose_name_plural = "policies"

    def __str__(self) -> str:
        return self.name


class PolicyVersion(models.Model):
    """One immutable version of the rules, with who wrote it and why."""

    policy = models.ForeignKey(Policy, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    rules = ExactField()
    digest = DigestField()
    reason = models.TextField(blank=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["policy", "number"], name="runs_policyversion_number")]

    def __str__(self) -> str:
        return f"{self.policy.name} v{self.number}"
