"""Tools of MCP servers, as they were seen and as a person accepted them."""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from runs.models.fields import DigestField, ExactField


class McpTool(models.Model):
    """One description of a tool as its server gave it. Another description of it is another row.

    Only what is offered and was accepted can be called: a change stops the tool until a person has accepted it.
    """

    server = models.CharField(max_length=40)
    name = models.CharField(max_length=128)
    number = models.PositiveIntegerField()  # of the description, from 1
    description = ExactField()
    """{"description", "input", "output", "annotations", "title"}, as the server said them."""
    digest = DigestField()
    offered = models.BooleanField(default=True)  # the server's newest list has it so
    seen_at = models.DateTimeField(db_default=Now())
    accepted_at = models.DateTimeField(null=True)
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.PROTECT, related_name="+"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["server", "name", "digest"], name="runs_mcptool_description"),
            models.UniqueConstraint(fields=["server", "name", "number"], name="runs_mcptool_number"),
            models.UniqueConstraint(
                fields=["server", "name"], condition=Q(offered=True), name="runs_mcptool_offered"
            ),
            models.CheckConstraint(
                name="runs_mcptool_accepted",
                condition=Q(accepted_at__isnull=True, accepted_by__isnull=True)
                | Q(accepted_at__isnull=False, accepted_by__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"mcp.{self.server}.{self.name} {self.number}"


class McpLook(models.Model):
    """Somebody asked, on the page, what a server offers now; a worker asks it and says what came of it."""

    server = models.CharField(max_length=40)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    asked_at = models.DateTimeField(db_default=Now(), editable=False)
    hinted_at = models.DateTimeField(db_default=Now())
    done_at = models.DateTimeField(null=True)
    said = models.TextField(blank=True)
    failed = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["server"], condition=Q(done_at__isnull=True), name="runs_mcplook_one"
            )
        ]

    def __str__(self) -> str:
        return f"{self.server} {self.asked_at}"
