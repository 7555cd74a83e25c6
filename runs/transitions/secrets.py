"""Keeping secrets: who may have which filled in where, where the value comes from, and under which key it is kept."""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable

from runs import models, redaction, rights
from runs.transitions import attempts, audit, clock_time, sealing
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,79}")
LONGEST = 100_000
USED_EVERY = datetime.timedelta(minutes=1)
Source = models.Secret.Source


@attempts.noted("secret.set", "secret {}")
def set_secret(
    name: str,
    value: str | None,
    *,
    uses: Iterable[tuple[str, str]],
    by: Actor,
    source: str = Source.TABLE,
    place: str = "",
) -> models.Secret:
    """Return the secret, new or changed: a `value` is encrypted, else it is read from `place` whenever it is used.

    Refuses NotYours, and Invalid for a name, a value or a use that can't be.
    """
    _entitled(by)
    if not NAME.fullmatch(name):
        raise Invalid("A secret's name has small letters, digits, dots, dashes and underscores, 80 at most.")
    allowed = sorted({(agent, tool) for agent, tool in uses})
    if not allowed or any(not agent or not tool for agent, tool in allowed):
        raise Invalid("Say which agent may use it for which tool; a secret that nobody may use is of no use.")
    if (source == Source.TABLE) != (value is not None) or (source != Source.TABLE) != bool(place):
        raise Invalid("A secret has either a value or a place where it is read.")
    if value is not None:
        check_value(value)
    assert by.user is not None
    key = sealing.keys()[0] if value is not None else None
    with committing("secret"):
        row = models.Secret.objects.select_for_update(no_key=True).filter(name=name).first()
        before = None if row is None else told(row)
        row = row or models.Secret(name=name)
        row.source, row.place, row.uses = source, place, [list(use) for use in allowed]
        row.key_id, row.sealed = (
            ("", None) if key is None or value is None else (key.id, key.seal(name, value))
        )
        row.changed_by, row.changed_at = by.user, clock_time.now()
        row.save()
        content = {"before": before, "after": told(row)}
        audit.append("secret.set", actor=by, subject=f"secret {name}", content=content)
    return row


@attempts.noted("secret.remove", "secret {}")
def remove(name: str, *, by: Actor) -> None:
    """Forget a secret; whatever names it is refused from now on. Refuses NotYours, and Invalid where there is none."""
    _entitled(by)
    with committing("secret"):
        row = models.Secret.objects.select_for_update(no_key=True).filter(name=name).first()
        if row is None:
            raise Invalid(f"There is no secret named {name!r}.")
        before = told(row)
        row.delete()
        audit.append(
            "secret.removed", actor=by, subject=f"secret {name}", content={"before": before, "after": None}
        )


@attempts.noted("secret.rotate", "secrets")
def rotate(*, by: Actor) -> tuple[int, bool]:
    """Return how many secrets are encrypted anew under the first key, and whether that one was made for it.

    Refuses NotYours, and Invalid without the keys of what is there.
    """
    _entitled(by)
    try:
        made = sealing.renew()
        new = sealing.keys()[0]
        with committing("secrets"):
            rows = (
                models.Secret.objects.select_for_update(no_key=True)
                .filter(source=Source.TABLE)
                .exclude(key_id=new.id)
            )
            old = list(rows.order_by("pk"))
            for row in old:
                value = opened(row)
                row.key_id, row.sealed = new.id, new.seal(row.name, value)
                row.save(update_fields=["key_id", "sealed"])
            content = {"key": new.id, "secrets": [row.name for row in old]}
            audit.append("secrets.rotated", actor=by, subject="secrets", content=content)
    except sealing.NoKey as error:
        raise Invalid(str(error)) from error
    return len(old), made


def opened(row: models.Secret) -> str:
    """Return the value that is kept encrypted; sealing.NoKey where it can't be read."""
    return sealing.key(row.key_id).open(row.name, bytes(row.sealed or b""))


def used(row: models.Secret) -> None:
    """Note that its value was read to be filled in; at most once a minute, since a busy agent asks often."""
    now = clock_time.now()
    if row.used_at is None or row.used_at < now - USED_EVERY:
        models.Secret.objects.filter(pk=row.pk).update(used_at=now)


def check_value(value: str) -> None:
    """Refuse (Invalid) what can't be a secret's value."""
    if not redaction.SHORTEST <= len(value) <= LONGEST or not value.strip():
        raise Invalid(
            f"A secret's value has {redaction.SHORTEST} to {LONGEST} characters: a shorter one can't be told from"
            " other words where it has to be taken out."
        )


def told(row: models.Secret) -> dict[str, object]:
    """Return what may be said of a secret."""
    return {"source": row.source, "place": row.place, "key": row.key_id, "uses": row.uses}


def _entitled(by: Actor) -> None:
    if by.user is None or not rights.may(by.user.roles(), rights.Act.SECRETS):
        raise NotYours("Only an administrator may keep secrets.")
