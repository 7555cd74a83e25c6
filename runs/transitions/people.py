"""The first administrator: made once, by whoever holds the set-up link that the shell printed."""

from __future__ import annotations

from django.contrib.auth.models import Group
from django.db.models import Q

from runs import models, rights
from runs.transitions import audit
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Stale


def administrator_exists() -> bool:
    """Return whether anybody can manage people here."""
    able = Q(is_superuser=True) | Q(groups__name=rights.ADMIN)
    return models.User.objects.filter(able, is_active=True).exists()


def make_first_administrator(user: models.User, *, ip: str | None) -> models.User:
    """Return the saved user as the first administrator. Refuses Stale when there is one already."""
    with committing("first_administrator"):
        models.AuditHead.objects.select_for_update().get(
            pk=1
        )  # two set-ups at once: the second one waits here
        if administrator_exists():
            raise Stale("There is an administrator already, so this link no longer works. Sign in instead.")
        user.is_staff = user.is_superuser = True
        user.save()
        user.groups.add(Group.objects.get_or_create(name=rights.ADMIN)[0])
        audit.append(
            "person.first_administrator",
            actor=Actor(user=user, channel="page", ip=ip),
            subject=f"user {user.pk}",
            content={"username": user.get_username()},
        )
    return user
