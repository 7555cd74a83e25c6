"""Django's admin: people and groups can be edited, everything about runs only read."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin, UserAdmin
from django.contrib.auth.models import Group
from django.http import HttpRequest

from runs import models
from runs.transitions import people
from runs.views import doors

admin.site.site_header = "ckptsite administration"
admin.site.site_title = "ckptsite"
admin.site.index_title = "People can be changed here, runs only read"


class Audited(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs only
    """What is changed here is in the audit trail too, in the same transaction, with what it was before."""

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the row, and remember how it stands."""
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            row._stood, row._password = people.standing(row), getattr(row, "password", "")
        return row

    def log_addition(self, request: Any, obj: Any, message: Any) -> Any:
        """Note who is new."""
        people.changed(obj, "added", before=None, words="", by=doors.actor(request))
        return super().log_addition(request, obj, message)

    def log_change(self, request: Any, obj: Any, message: Any) -> Any:
        """Note what is different; a new password by its field's name alone."""
        names = [name for part in message for name in part.get("changed", {}).get("fields", [])]
        before = getattr(obj, "_stood", None)
        new = getattr(obj, "password", "") != getattr(obj, "_password", "")
        people.changed(
            obj, "changed", before=before, words=", ".join(names), by=doors.actor(request), sign_out=new
        )
        return super().log_change(request, obj, message)

    def log_deletions(self, request: Any, queryset: Any) -> Any:
        """Note who is gone."""
        for row in queryset:
            people.changed(row, "deleted", before=people.standing(row), words="", by=doors.actor(request))
        return super().log_deletions(request, queryset)


admin.site.unregister(Group)
# Factors, and who signs in by which account, aren't changed here: what ends them is noted on the pages for it.
_OTHERS = {"account", "mfa", "socialaccount"}
admin.site.unregister([model for model in admin.site._registry if model._meta.app_label in _OTHERS])


@admin.register(Group)
class RoleAdmin(Audited, GroupAdmin):
    """Groups: their names are what rights go by."""


@admin.register(models.User)
class PersonAdmin(Audited, UserAdmin):  # type: ignore[type-arg]  # generic in the stubs only
    """People; what they may do follows from their groups."""

    list_display = ("username", "first_name", "last_name", "email", "is_active", "is_staff")


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs only
    """Look, don't touch: a status changes in transitions only."""

    list_per_page = 50
    show_full_result_count = False

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody adds."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody changes."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes."""
        return False

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether this is a member of staff."""
        return bool(request.user.is_active and request.user.is_staff)


def _columns(model: Any, *names: str, related: tuple[str, ...] = ()) -> None:
    kind = type(
        f"{model.__name__}Admin",
        (ReadOnly,),
        {"list_display": ("pk", *names), "list_select_related": related, "ordering": ("-pk",)},
    )
    admin.site.register(model, kind)


_columns(models.Agent, "name", "title", "current", related=("current__agent",))
_columns(models.AgentVersion, "agent", "number", "provider", "model", "created_at", related=("agent",))
_columns(models.Run, "title", "status", "reason", "agent_version", "created_by", "created_at",
         related=("agent_version__agent", "created_by"))  # fmt: skip
_columns(models.Entry, "run_id", "position", "kind", "number", "boundary", "created_at")
_columns(models.Checkpoint, "run_id", "number", "boundary", "position", "created_at")
_columns(models.Fact, "run_id", "number", "kind", "by", "created_at", related=("by",))
_columns(models.Plan, "run_id", "version", "author", "created_at", related=("author",))
_columns(models.PlanStep, "run_id", "order", "title", "state")
_columns(models.Action, "run_id", "tool", "tier", "status", "revision", "created_at")
_columns(models.Revision, "action_id", "number", "author", "created_at", related=("author",))
_columns(models.Occurrence, "tool", "state", "n", "contradicted", "first_sent_at", "settled_at")
_columns(models.Evidence, "action_id", "number", "attempt", "outcome", "source", "created_at")
_columns(models.Review, "run_id", "kind", "status", "tier", "title", "due_at")
_columns(models.Decision, "review_id", "person", "verdict", "created_at", related=("person",))
_columns(models.Handover, "review_id", "to", "by", "at", related=("to", "by"))
_columns(models.Policy, "name")
_columns(
    models.PolicyVersion, "policy", "number", "created_by", "created_at", related=("policy", "created_by")
)
_columns(models.AuditEvent, "at", "actor", "act", "subject", "channel", "ip", related=("actor",))
_columns(
    models.ChainCheck, "asked_by", "asked_at", "first", "seq", "broken", "ended_at", related=("asked_by",)
)
_columns(models.Refusal, "at", "actor", "act", "code", "subject", "channel", "ip", related=("actor",))
_columns(
    models.Account, "root_id", "agent", "day", "measure", "limit", "spent", "advanced", related=("agent",)
)
_columns(models.Blob, "size", "created_at")
_columns(
    models.Installation,
    "gate_epoch",
    "policy_version",
    "paused_all",
    "restored",
    related=("policy_version__policy",),
)
