"""People of the team: invited, given roles and groups, switched off. Done by administrators, never by a program.

Whatever takes something away is in force for every gate before it is acknowledged. Nobody changes their own roles,
and there is always an administrator: the one who does this is one, and stays one.
"""

from __future__ import annotations

import datetime
import re
import secrets
import unicodedata
from collections.abc import Iterable

from allauth.mfa.models import Authenticator
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError
from django.db.models import Q

from runs import exact, hints, models, rights
from runs.models import scopes
from runs.transitions import attempts, audit, clock_time, people, proofs, switches, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

LINK = datetime.timedelta(days=7)
"""So long an invitation's link works."""
_NAME = re.compile(r"[\w.@+-]{1,150}")
_GROUP = re.compile(r"[a-z][a-z0-9-]{1,39}")


@attempts.noted("person.invite", "people")
def invite(*, username: str, email: str, groups: Iterable[str], by: Actor) -> tuple[models.User, str]:
    """Return the new person, and the secret of the link with which they set their password; it is nowhere else.

    Refuses NotYours, and Invalid for a name that can't be or is taken, an address that is none, and unknown groups.
    """
    username, email = texts.typed(username, "user name"), texts.typed(email, "e-mail address")
    username = unicodedata.normalize(
        "NFKC", username
    )  # letters that imitate others as a whole make no new name
    if not _NAME.fullmatch(username):
        raise Invalid("A user name has letters, digits and @ . + - _ only, at most 150 of them.")
    if email:
        try:
            validate_email(email)
        except ValidationError as error:
            raise Invalid("This is no e-mail address.") from error
    try:
        with committing("invite"):
            admin = administrator(by)
            if models.User.objects.filter(username__iexact=username).exists():
                raise Invalid("Somebody has this user name already.")
            user = models.User(username=username, email=email)
            user.set_unusable_password()
            user.save()
            user.groups.set(_groups(groups))
            secret = _link(user, by=admin)
            people.changed(user, "added", before=None, words="invitation", by=by)
    except IntegrityError as error:
        raise Invalid("Somebody has this user name already.") from error
    return user, secret


@attempts.noted("person.link", "user {}")
def new_link(user_id: int, *, by: Actor) -> tuple[models.User, str]:
    """Return the person and a new secret; the old link is void.

    Refuses NotYours, Stale who has a password, and Unproven who hasn't shown lately who they are.
    """
    with committing("invite"):
        admin = administrator(by)
        user = _person(user_id)
        if user.has_usable_password() or not user.is_active:
            raise Stale("A link is for who has no password yet, and isn't switched off.")
        proofs.check(by, clock_time.now())
        secret = _link(user, by=admin)
        audit.append("person.link_made", actor=by, subject=f"user {user.pk}")
    return user, secret


def invited(secret: str) -> models.User | None:
    """Return whom this link is for, while it works."""
    digest = exact.digest_bytes(secret.encode("utf-8", "surrogatepass"))
    rows = models.Invitation.objects.select_related("person").filter(
        digest=digest, used_at__isnull=True, expires_at__gt=clock_time.now(), person__is_active=True
    )
    found = rows.first()
    return None if found is None or found.person.has_usable_password() else found.person


@attempts.noted("person.join", "people")
def join(*, secret: str, password: str, by: Actor) -> models.User:
    """Return the person, who has the password that they chose. Refuses NotYours, and Stale for a void link."""
    with committing("join"):
        user = invited(secret)
        if user is None:
            raise Stale("This link works no more; an administrator can make another.")
        if by.user not in {None, user}:
            raise NotYours("This link is for somebody else; sign out first.")
        user = _person(user.pk)
        digest = exact.digest_bytes(secret.encode("utf-8", "surrogatepass"))
        used = models.Invitation.objects.filter(person=user, digest=digest, used_at__isnull=True)
        if not used.update(used_at=clock_time.now()):
            raise Stale("This link was used already.")
        user.set_password(password)
        user.save(update_fields=["password"])
        actor = Actor(user=user, channel=by.channel, ip=by.ip)
        audit.append("person.joined", actor=actor, subject=f"user {user.pk}")
        return user


@attempts.noted("person.roles", "user {}")
def set_groups(user_id: int, groups: Iterable[str], *, seen: Iterable[str], by: Actor) -> models.User:
    """Return the person, in these roles and groups. `seen` are those that the form showed.

    Refuses NotYours, also for oneself, Invalid for unknown groups, and Stale where they are others by now.
    """
    with committing("person_roles"):
        installation = models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        administrator(by)
        user = _person(user_id)
        if user == by.user:
            raise NotYours("Nobody changes their own roles; another administrator can.")
        wanted, before = _groups(groups), people.standing(user)
        if set(seen) != {*before["groups"], *({rights.ADMIN} if user.is_superuser else ())}:
            raise Stale("Somebody changed this person's roles meanwhile; look at them again.")
        user.groups.set(wanted)
        if user.is_superuser and rights.ADMIN not in {group.name for group in wanted}:
            user.is_superuser = user.is_staff = False
            user.save(update_fields=["is_superuser", "is_staff"])
        if people.standing(user) == before:
            raise Invalid("Nothing is changed.")
        _narrow(installation)
        people.changed(user, "changed", before=before, words="roles and groups", by=by)
    switches.interrupt("roles", by)
    return user


@attempts.noted("person.switch", "user {}")
def switch(user_id: int, *, on: bool, by: Actor) -> models.User:
    """Return the person, switched off or on again. Off ends their sessions, tokens and delegations at once.

    Refuses NotYours, also for oneself, and Stale where they are so already.
    """
    with committing("person_switch"):
        installation = models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        administrator(by)
        user = _person(user_id)
        if user == by.user:
            raise NotYours("Nobody switches themselves off; another administrator can.")
        if user.is_active == on:
            raise Stale(f"This person is switched {'on' if on else 'off'} already.")
        before, now = people.standing(user), clock_time.now()
        user.is_active = on
        user.save(update_fields=["is_active"])
        if not on:
            tokens = models.ApiToken.objects.filter(person=user, revoked_at__isnull=True)
            tokens.update(revoked_at=now, revoked_by=by.user)
            given = models.Delegation.objects.filter(ended_at__isnull=True, until__gt=now)
            given.filter(principal=user).update(ended_at=now, ended_by=by.user)
            given.filter(delegate=user).update(ended_at=now, ended_by=by.user)
        _narrow(installation)
        people.changed(user, "changed", before=before, words="switched on" if on else "switched off", by=by)
    switches.interrupt("person", by)
    return user


@attempts.noted("person.reset", "user {}")
def reset(user_id: int, *, by: Actor) -> tuple[models.User, str]:
    """Return who lost their password or their second factor, and the secret of a link to begin anew.

    Password, factors and sessions end at once. Refuses NotYours, also for oneself, and Stale who has no password to
    lose or is switched off.
    """
    with committing("person_reset"):
        admin = administrator(by)
        user = _person(user_id)
        if user == by.user:
            raise NotYours("Nobody resets their own sign-in; another administrator can.")
        if not user.has_usable_password() or not user.is_active:
            raise Stale("This is for who has a password, and isn't switched off.")
        before = people.standing(user)
        factors, _ = Authenticator.objects.filter(user=user).delete()
        user.set_unusable_password()
        user.save(update_fields=["password"])
        secret = _link(user, by=admin)
        words = "sign-in reset" + (", second factors removed" if factors else "")
        people.changed(user, "changed", before=before, words=words, by=by, sign_out=True)
    return user, secret


@attempts.noted("scope.set", "{}")
def set_scope(subject: str, agents: Iterable[str], *, by: Actor) -> list[str]:
    """Return what "user 7" or "group finance" is limited to now: agents, and "project:" with a name for all of one.

    With none named there is no limit. Refuses NotYours, also for oneself, Invalid for somebody, a group, an agent or a
    project that isn't there, and Unproven.
    """
    kind, _, name = subject.partition(" ")
    with committing("scope"):
        installation = models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        administrator(by)
        person = (
            models.User.objects.filter(pk=int(name)).first() if kind == "user" and name.isdecimal() else None
        )
        group = Group.objects.filter(name=name).first() if kind == "group" else None
        if person is None and group is None:
            raise Invalid("Choose who is limited.")
        if person is not None and person == by.user:
            raise NotYours("Nobody changes what they see themselves; another administrator can.")
        wanted = {*agents}
        projects = {
            name.removeprefix(scopes.PROJECT) for name in wanted if name.startswith(scopes.PROJECT)
        } - {""}
        chosen = [
            *(
                models.Scope(person=person, group=group, agent=agent)
                for agent in models.Agent.objects.filter(name__in=wanted)
            ),
            *(
                models.Scope(person=person, group=group, project=project)
                for project in models.Agent.objects.filter(project__in=projects)
                .values_list("project", flat=True)
                .distinct()
            ),
        ]
        if len(chosen) != len(wanted):
            raise Invalid("One of these agents or projects isn't there.")
        rows = models.Scope.objects.filter(person=person, group=group)
        before = sorted(row.name for row in rows.select_related("agent"))
        after = sorted(row.name for row in chosen)
        if before == after:
            raise Invalid("Nothing is changed.")
        proofs.check(by, clock_time.now())
        rows.delete()
        models.Scope.objects.bulk_create(chosen)
        reached = models.User.objects.filter(Q(pk=person.pk) if person is not None else Q(groups=group))
        for user_id in reached.values_list("pk", flat=True):
            hints.left(user_id)
        _narrow(installation)
        audit.append("scope.set", actor=by, subject=subject, content={"before": before, "after": after})
    switches.interrupt("scope", by)
    return after


@attempts.noted("group.make", "groups")
def make_group(name: str, *, by: Actor) -> Group:
    """Return the new reviewer group. It gives no right by itself. Refuses NotYours, and Invalid for such a name."""
    name = texts.typed(name, "name").lower()
    if not _GROUP.fullmatch(name):
        raise Invalid("A group's name has small letters, digits and hyphens, and begins with a letter.")
    with committing("group"):
        administrator(by)
        group, made = Group.objects.get_or_create(name=name)
        if not made:
            raise Invalid("There is a group of this name.")
        people.changed(group, "added", before=None, words="", by=by)
    return group


def administrator(by: Actor) -> models.User:
    """Return who manages people, as they stand now; the caller's transaction holds. Refuses NotYours anybody else."""
    user = models.User.objects.filter(pk=by.user.pk).first() if by.user is not None else None
    if user is None or by.token is not None or not rights.may(user.roles(), rights.Act.PEOPLE):
        raise NotYours("Only an administrator who is signed in may manage people.")
    return user


def _person(user_id: int) -> models.User:
    return models.User.objects.select_for_update(no_key=True).get(pk=user_id)


def _groups(names: Iterable[str]) -> list[Group]:
    wanted = {*names}
    found = list(Group.objects.filter(name__in=wanted).order_by("name"))
    if len(found) != len(wanted):
        raise Invalid("One of these groups isn't there.")
    return found


def _narrow(installation: models.Installation) -> None:
    installation.gate_epoch += 1
    installation.save(update_fields=["gate_epoch"])


def _link(user: models.User, *, by: models.User) -> str:
    secret, now = secrets.token_urlsafe(32), clock_time.now()
    fresh = {
        "digest": exact.digest_bytes(secret.encode()),
        "made_by": by,
        "expires_at": now + LINK,
        "used_at": None,
    }
    models.Invitation.objects.update_or_create(person=user, defaults=fresh)
    return secret
