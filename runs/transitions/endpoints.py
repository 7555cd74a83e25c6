"""Endpoints of an installation: made, turned, switched off and on by administrators."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from urllib.parse import urlsplit

from django.db import IntegrityError

from runs import exact, models, telling
from runs.transitions import attempts, audit, clock_time, notice_audience, proofs, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, Stale

MOST = 20
BOTH_SIGN = datetime.timedelta(hours=24)


@attempts.noted("endpoint.create", "endpoints")
def create(url: str, *, about: str, kinds: Iterable[str], form: str, by: Actor) -> models.Endpoint:
    """Return the new endpoint; its address was checked before, and is checked at each try.

    Refuses NotYours, Invalid for kinds that don't exist and for too many, Unproven who hasn't shown lately who they
    are, and Stale when this form has made one.
    """
    notice_audience.only_admins(by)
    assert by.user is not None
    url, about, form = texts.typed(url, "address"), texts.typed(about, "name"), texts.token(form)
    wanted = sorted(set(kinds))
    if not set(wanted) <= set(telling.KINDS):
        raise Invalid("Choose among the kinds that there are.")
    if not url or len(url) > 500 or len(about) > 120:
        raise Invalid("Give an address of at most 500 characters, and a name of at most 120.")
    proofs.check(by, clock_time.now())
    try:
        with committing("endpoint"):
            if models.Endpoint.objects.count() >= MOST:
                raise Invalid(f"There are {MOST} endpoints; that is as many as there can be.")
            row = models.Endpoint.objects.create(
                url=url, about=about, kinds=wanted, form=form, created_by=by.user
            )
            content = {**_told(url), "about": about, "kinds": wanted}
            audit.append("endpoint.created", actor=by, subject=f"endpoint {row.pk}", content=content)
    except IntegrityError as error:
        raise Stale(
            "This form has made an endpoint already; its secret was shown then, and only then."
        ) from error
    return row


@attempts.noted("endpoint.rotate", "endpoint {}")
def rotate(endpoint_id: int, *, generation: int, by: Actor) -> models.Endpoint:
    """Return the endpoint with a new secret; for a day the one before signs too.

    `generation` is the one that was seen: sent twice it turns once. Refuses NotYours, Stale and Unproven.
    """
    notice_audience.only_admins(by)
    with committing("endpoint_rotate"):
        row = models.Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint_id)
        if row.generation != generation:
            raise Stale("Its secret was changed meanwhile; the new one was shown then, and only then.")
        proofs.check(by, clock_time.now())
        row.generation, row.rotated_at = row.generation + 1, clock_time.now()
        row.save(update_fields=["generation", "rotated_at"])
        content = {"generation": row.generation}
        audit.append("endpoint.rotated", actor=by, subject=f"endpoint {row.pk}", content=content)
        return row


@attempts.noted("endpoint.switch", "endpoint {}")
def switch(endpoint_id: int, *, enabled: bool, by: Actor) -> models.Endpoint:
    """Return the endpoint, told from now on or no longer; twice is once. Refuses NotYours."""
    notice_audience.only_admins(by)
    with committing("endpoint_switch"):
        row = models.Endpoint.objects.select_for_update(no_key=True).get(pk=endpoint_id)
        if row.enabled != enabled:
            row.enabled = enabled
            row.save(update_fields=["enabled"])
            act = "endpoint.on" if enabled else "endpoint.off"
            audit.append(act, actor=by, subject=f"endpoint {row.pk}", content=_told(row.url))
        return row


def _told(url: str) -> dict[str, object]:
    """Return what the trail says of an address: its host and a digest, since the rest of it is often the secret."""
    parts = urlsplit(url)
    return {"host": f"{parts.scheme}://{parts.netloc}", "digest": exact.digest(url)}


def both_sign(endpoint: models.Endpoint, now: datetime.datetime) -> bool:
    """Return whether the secret before the last rotation still signs too."""
    return endpoint.rotated_at is not None and now < endpoint.rotated_at + BOTH_SIGN
