"""People: the first administrator, who signs in, and what administrators change about others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Q

from runs import models, points, rights
from runs.transitions import attempts, audit
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


def signed_in(user: models.User, *, by: Actor) -> None:
    """Note that somebody has signed in."""
    with committing("sign_in"):
        audit.append("person.signed_in", actor=by, subject=f"user {user.pk}")


def standing(row: models.User | Group) -> dict[str, Any]:
    """Return what decides what a person, or a group, may do here; nothing of a password."""
    if isinstance(row, Group):
        return {"name": row.name}
    names = ("username", "email", "is_active", "is_staff", "is_superuser")
    kept: dict[str, Any] = {name: getattr(row, name) for name in names}
    return {**kept, "groups": sorted(row.groups.values_list("name", flat=True))}


def changed(
    row: models.User | Group, act: str, *, before: Mapping[str, Any] | None, words: str, by: Actor
) -> None:
    """Note what an administrator did to a person or a group; the caller's transaction has done it."""
    kind = "group" if isinstance(row, Group) else "user"
    gone = act == "deleted"
    content = {"before": before, "after": None if gone else standing(row), "words": words}
    points.reach("person_changed.before")
    with transaction.atomic():
        audit.append(
            f"{'group' if kind == 'group' else 'person'}.{act}",
            actor=by,
            subject=f"{kind} {row.pk}",
            content={name: value for name, value in content.items() if value},
        )
    points.reach("person_changed.after")


def not_signed_in(name: str, *, code: str, ip: str | None) -> None:
    """Note a wrong try to sign in. What isn't somebody's name isn't kept: it may be a password at the wrong place."""
    user = None if "\x00" in name else models.User.objects.filter(username=name[:150]).first()
    attempts.note(
        "person.sign_in",
        code=code,
        reason="Too many wrong tries." if code == "too_many" else "The name or the password was wrong.",
        subject="nobody known here" if user is None else f"user {user.pk}",
        by=Actor(user=None, ip=ip),
    )
