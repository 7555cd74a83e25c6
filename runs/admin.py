"""Django's admin: what people are called can be edited, everything else only read."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html

from runs import models
from runs.transitions import people
from runs.views import doors

admin.site.site_header = "ckptsite administration"
admin.site.site_title = "ckptsite"
admin.site.index_title = "Names and addresses of people can be changed here, everything else only read"
admin.site.unregister(Group)
# Factors, and who signs in by which account, aren't changed here: what ends them is noted on the pages for it.
_OTHERS = {"account", "mfa", "socialaccount"}
admin.site.unregister([model for model in admin.site._registry if model._meta.app_label in _OTHERS])


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


@admin.register(models.User)
class PersonAdmin(ReadOnly):
    """What people are called. What they may do is changed on the team page, where it counts for every gate at once."""

    list_display = ("username", "first_name", "last_name", "email", "is_active")
    search_fields = ("username", "first_name", "last_name", "email")
    readonly_fields = ("is_active", "is_superuser", "is_staff", "groups", "last_login", "date_joined")
    ordering = ("username",)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether this is an administrator of both sites."""
        return bool(request.user.is_active and request.user.is_superuser)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return names and addresses, then what is only read, with the way to where it is changed."""
        where = format_html(
            'New people, roles, groups, sign-in, and who is switched off: on the <a href="{}">team page</a>.',
            reverse("team"),
        )
        return (
            (None, {"fields": ("username", "first_name", "last_name", "email")}),
            ("What they may do", {"description": where, "fields": self.readonly_fields}),
        )

    def get_object(self, request: HttpRequest, object_id: str, from_field: str | None = None) -> Any:
        """Return the row, and remember how it stands."""
        row = super().get_object(request, object_id, from_field)
        if row is not None:
            row._stood = people.standing(row)
        return row

    def log_change(self, request: Any, obj: Any, message: Any) -> Any:
        """Note in the audit trail, in the same transaction, what is different."""
        names = [name for part in message for name in part.get("changed", {}).get("fields", [])]
        by = doors.actor(request)
        people.changed(obj, "changed", before=obj._stood, words=", ".join(names), by=by)
        return super().log_change(request, obj, message)


def _columns(model: Any, *names: str, related: tuple[str, ...] = ()) -> None:
    kind = type(
        f"{model.__name__}Admin",
        (ReadOnly,),
        {"list_display": ("pk", *names), "list_select_related": related, "ordering": ("-pk",)},
    )
    admin.site.register(model, kind)


_columns(Group, "name")
_columns(models.Agent, "name", "title", "project", "current", related=("current__agent",))
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
