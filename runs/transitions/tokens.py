"""Tokens of people: made with an end and for certain acts, shown once, and revoked at once."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Iterable

from django.db import IntegrityError
from django.db.models import Q

from runs import exact, hints, models, rights
from runs.transitions import attempts, audit, clock_time, proofs, switches, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

MARK = "ckpt_"
LONGEST_NAME = 60
DAYS = (7, 30, 90, 365)
MOST = 50
USED_EVERY = datetime.timedelta(minutes=1)


@attempts.noted("token.create", "tokens")
def create(
    *, name: str, kind: str, acts: Iterable[str], days: int, form: str, by: Actor
) -> tuple[models.ApiToken, str]:
    """Return the new token and its secret, which is nowhere else and can't be shown again.

    Refuses NotYours for a program, who sees nothing here and more than the person may, Invalid for what doesn't fit,
    Unproven who hasn't shown lately who they are, since a token outlives the session that made it, and Stale when this
    form has made its token already.
    """
    user = _person(by)
    name, form = texts.typed(name, "name"), texts.token(form)
    if not texts.says(name) or len(name) > LONGEST_NAME:
        raise Invalid(f"Give it a name of at most {LONGEST_NAME} characters, such as what uses it.")
    if kind not in models.ApiToken.Kind.values:
        raise Invalid("Choose who acts with it.")
    if days not in DAYS:
        raise Invalid("Choose when it ends.")
    wanted = _wanted(user, kind, acts)
    secret = f"{MARK}{secrets.token_urlsafe(32)}"
    now = clock_time.now()
    proofs.check(by, now)
    try:
        with committing("token"):
            if models.ApiToken.objects.filter(live(now), person=user).count() >= MOST:
                raise Invalid(f"You have {MOST} tokens; revoke one that isn't needed any more.")
            token = models.ApiToken.objects.create(
                person=user,
                name=name,
                kind=kind,
                prefix=secret[:12],
                digest=exact.digest_bytes(secret.encode()),
                scopes=" ".join(sorted(wanted)),
                form=form,
                expires_at=now + datetime.timedelta(days=days),
            )
            content = {**token.named(), "scopes": token.scopes, "expires": token.expires_at.isoformat()}
            audit.append("token.created", actor=by, subject=f"token {token.pk}", content=content)
    except IntegrityError as error:
        raise Stale(
            "This form has made a token already; its secret was shown then, and only then."
        ) from error
    return token, secret


@attempts.noted("token.revoke", "token {}")
def revoke(token_id: int, *, by: Actor) -> models.ApiToken:
    """Return the token, revoked: nothing starts any more on an approval that was given with it.

    Refuses NotYours for somebody else's, unless one manages people, and Stale for one that is revoked already.
    """
    user = _person(by)
    with committing("token_revoke"):
        installation = models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        token = models.ApiToken.objects.select_for_update(no_key=True).get(pk=token_id)
        if token.person_id != user.pk and not rights.may(user.roles(), rights.Act.PEOPLE):
            raise NotYours("This is somebody else's token; an administrator can revoke it.")
        if token.revoked_at is not None:
            raise Stale("This token is revoked already.")
        token.revoked_at, token.revoked_by = clock_time.now(), user
        token.save(update_fields=["revoked_at", "revoked_by"])
        installation.gate_epoch += 1
        installation.save(update_fields=["gate_epoch"])
        content = {**token.named(), "of": token.person_id, "epoch": installation.gate_epoch}
        audit.append("token.revoked", actor=by, subject=f"token {token.pk}", content=content)
        hints.left(token.person_id)
    switches.interrupt("token", by)
    return token


def used(token: models.ApiToken) -> None:
    """Note that the token was used just now; at most once a minute, since a busy program asks often."""
    now = clock_time.now()
    if token.used_at is None or token.used_at < now - USED_EVERY:
        models.ApiToken.objects.filter(pk=token.pk).update(used_at=now)


def live(now: datetime.datetime) -> Q:
    """Return the condition of a token that opens anything."""
    return Q(revoked_at__isnull=True, expires_at__gt=now)


def _person(by: Actor) -> models.User:
    if by.user is None or by.token is not None or not rights.may(by.user.roles(), rights.Act.VIEW):
        raise NotYours("Only a person who is signed in may make and revoke tokens.")
    return by.user


def _wanted(user: models.User, kind: str, acts: Iterable[str]) -> set[str]:
    """Return the acts, with looking among them; refuse what this kind (Invalid) or this person (NotYours) can't do."""
    wanted = {*acts, str(rights.Act.VIEW)}
    known = rights.TOKEN_ACTS if kind == models.ApiToken.Kind.PERSON else rights.MACHINE_ACTS
    if not wanted <= {str(act) for act in known}:
        raise Invalid("A token of this kind can't be for that: a decision is a person's.")
    if not all(rights.may(user.roles(), rights.Act(act)) for act in wanted):
        raise NotYours("A token can't be for more than you may do yourself.")
    return wanted
