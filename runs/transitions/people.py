"""People: the first administrator, their passwords and factors, and what administrators change about others."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Q

from runs import hints, models, points, rights
from runs.transitions import attempts, audit, clock_time, proofs, sessions
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
        models.AuditHead.objects.select_for_update(no_key=True).get(
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


def standing(row: models.User | Group) -> dict[str, Any]:
    """Return what decides what a person, or a group, may do here; nothing of a password."""
    if isinstance(row, Group):
        return {"name": row.name}
    names = ("username", "email", "is_active", "is_staff", "is_superuser")
    kept: dict[str, Any] = {name: getattr(row, name) for name in names}
    return {**kept, "groups": sorted(row.groups.values_list("name", flat=True))}


def changed(
    row: models.User | Group,
    act: str,
    *,
    before: Mapping[str, Any] | None,
    words: str,
    by: Actor,
    sign_out: bool = False,
) -> None:
    """Note what an administrator did to a person or a group; the caller's transaction has done it.

    Whoever is switched off is signed out everywhere, and with `sign_out` whoever has another password now. Refuses
    Unproven an administrator who hasn't shown lately who they are.
    """
    proofs.check(by, clock_time.now())
    kind = "group" if isinstance(row, Group) else "user"
    gone = act == "deleted"
    content = {"before": before, "after": None if gone else standing(row), "words": words}
    points.reach("person_changed.before")
    with transaction.atomic():
        if isinstance(row, models.User) and not gone and (sign_out or not row.is_active):
            sessions.close(row, but=by.session)
        if isinstance(row, models.User) and not gone:
            hints.left(row.pk)
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


def not_proved(user: models.User, *, code: str, by: Actor) -> None:
    """Note a wrong second factor, or a wrong proof of who somebody is."""
    reason = "Too many wrong tries." if code == "too_many" else "What they showed was wrong."
    attempts.note("person.prove", code=code, reason=reason, subject=f"user {user.pk}", by=by)


def change_password(user: models.User, password: str, *, by: Actor) -> None:
    """Give somebody the new password that they chose; their other sessions end."""
    user.set_password(password)
    with committing("password"):
        user.save(update_fields=["password"])
        sessions.close(user, but=by.session)
        audit.append("person.password_changed", actor=by, subject=f"user {user.pk}")


def from_outside(
    email: str, *, verified: bool, name: str, names: tuple[str, str], by: Actor
) -> models.User | None:
    """Return whose account this is for who comes from the identity provider; a new one where the domain is allowed.

    None, and a line among the refused attempts, where nobody is known by the address or it isn't proven.
    """
    found = list(models.User.objects.filter(email__iexact=email)[:2]) if verified and email else []
    if len(found) == 1 and found[0].is_active:
        return found[0]
    domain = email.rpartition("@")[2].lower()
    if found or not verified or domain not in settings.CKPTSITE_OIDC_DOMAINS:
        reason = "The identity provider let somebody in whom nobody knows here."
        attempts.note("person.sign_in", code="unknown", reason=reason, subject="nobody known here", by=by)
        return None
    with committing("person_from_outside"):
        models.AuditHead.objects.select_for_update(no_key=True).get(
            pk=1
        )  # two at once: the second finds the first's name taken
        user = models.User(
            username=_free(name), email=email, first_name=names[0][:150], last_name=names[1][:150]
        )
        user.set_unusable_password()
        user.save()
        user.groups.add(Group.objects.get_or_create(name=settings.CKPTSITE_OIDC_GROUP)[0])
        content = {"after": standing(user), "words": "single sign-on"}
        audit.append("person.added", actor=by, subject=f"user {user.pk}", content=content)
    return user


def _free(name: str) -> str:
    """Return a user name like this one that nobody has."""
    base = re.sub(r"[^\w.@+-]", "-", name)[:140] or "person"
    for number in itertools.count(1):
        wanted = base if number == 1 else f"{base}-{number}"
        if not models.User.objects.filter(username__iexact=wanted).exists():
            return wanted
    raise AssertionError


@contextmanager
def changing_factors(user: models.User, act: str, *, factor: str, by: Actor) -> Iterator[None]:
    """Have the block change a person's factors, noted as `act` in the same transaction; `factor` is what it was about.

    Refuses Unproven somebody who hasn't shown lately who they are.
    """
    proofs.check_page(by, clock_time.now())
    with committing("factor"):
        yield
        if by.session is not None and act == "person.factor_added":
            models.Session.objects.filter(pk=by.session.pk).update(strong=True)
        audit.append(act, actor=by, subject=f"user {user.pk}", content={"factor": factor})
