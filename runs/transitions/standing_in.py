"""Deciding in somebody's place for a time, and the rota: who of a group is on duty when.

Neither gives anybody a role. A delegate needs the right to decide themselves, and decides what the principal may.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable

from django.conf import settings
from django.contrib.auth.models import Group

from runs import models, rights
from runs.models.team import DAYS
from runs.transitions import attempts, audit, clock_time, proofs, switches, team, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

LONGEST = datetime.timedelta(days=92)


@attempts.noted("delegation.make", "user {}")
def delegate(
    principal_id: int, to_id: int, *, until: datetime.datetime, reason: str, by: Actor
) -> models.Delegation:
    """Return the delegation: until then `to` decides in the principal's place, too.

    Refuses NotYours for somebody else's, unless one manages people, Invalid without an end ahead, a reason, or two
    people who may both decide, and for a second one between the same two, and Unproven.
    """
    reason, now = texts.typed(reason, "reason"), clock_time.now()
    with committing("delegate"):
        user = _own(
            principal_id,
            by,
            "Only the person themselves, or an administrator, hands their deciding to somebody.",
        )
        people = {
            row.pk: row for row in models.User.objects.filter(pk__in=[principal_id, to_id], is_active=True)
        }
        principal, to = people.get(principal_id), people.get(to_id)
        if principal is None or to is None or principal == to:
            raise Invalid("Choose somebody else who decides here.")
        for person in (principal, to):
            if not rights.may(person.roles(), rights.Act.DECIDE):
                raise Invalid(f"{person.display()} may decide nothing here, so nothing can be handed on.")
        if not now < until <= now + LONGEST:
            raise Invalid(f"Choose an end within the next {LONGEST.days} days.")
        if not texts.says(reason):
            raise Invalid("Say why; it stays in the record.")
        open_now = models.Delegation.objects.filter(ended_at__isnull=True, until__gt=now)
        if open_now.filter(principal=principal, delegate=to).exists():
            raise Invalid(f"{to.display()} decides in {principal.display()}'s place already; end that first.")
        proofs.check(by, now)
        row = models.Delegation.objects.create(
            principal=principal, delegate=to, reason=reason, made_by=user, until=until
        )
        content = {"to": to.get_username(), "until": until.isoformat(), "reason": reason}
        audit.append("delegation.made", actor=by, subject=f"user {principal.pk}", content=content)
    return row


@attempts.noted("delegation.end", "delegation {}")
def end(delegation_id: int, *, by: Actor) -> models.Delegation:
    """Return the delegation, over: what was approved by it and hasn't started is asked again.

    Refuses NotYours, unless one is either of the two or manages people, and Stale what is over.
    """
    with committing("delegate"):
        installation = models.Installation.objects.select_for_update(no_key=True).get(pk=1)
        row = (
            models.Delegation.objects.select_for_update(no_key=True, of=("self",))
            .select_related("delegate")
            .get(pk=delegation_id)
        )
        if by.user is None or by.user.pk != row.delegate_id:
            _own(row.principal_id, by, "Only the two people themselves, or an administrator, end this.")
        now = clock_time.now()
        if row.ended_at is not None or row.until <= now:
            raise Stale("This is over already.")
        row.ended_at, row.ended_by = now, by.user
        row.save(update_fields=["ended_at", "ended_by"])
        installation.gate_epoch += 1
        installation.save(update_fields=["gate_epoch"])
        content = {"to": row.delegate.get_username()}
        audit.append("delegation.ended", actor=by, subject=f"user {row.principal_id}", content=content)
    switches.interrupt("delegation", by)
    return row


@attempts.noted("shift.make", "rota")
def add_shift(
    *,
    group: str,
    person_id: int,
    days: Iterable[str],
    starts: datetime.time,
    ends: datetime.time,
    since: datetime.date,
    until: datetime.date | None,
    by: Actor,
) -> models.Shift:
    """Return the shift. Who is on duty gets the group's questions first; once they are due they are everybody's.

    Refuses NotYours, Invalid without days, with an end before its beginning, and for who isn't in the group, and
    Unproven.
    """
    chosen = "".join(sorted({*days} & DAYS.keys()))
    with committing("shift"):
        admin = team.administrator(by)
        row = Group.objects.filter(name=group).first()
        person = models.User.objects.filter(pk=person_id, is_active=True, groups=row).first() if row else None
        if row is None or person is None:
            raise Invalid("Choose somebody who is in this group.")
        if not chosen:
            raise Invalid("Choose at least one day.")
        if until is not None and until < since:
            raise Invalid("It can't end before it begins.")
        proofs.check(by, clock_time.now())
        shift = models.Shift.objects.create(
            group=row,
            person=person,
            days=chosen,
            starts=starts,
            ends=ends,
            since=since,
            until=until,
            made_by=admin,
        )
        audit.append("shift.made", actor=by, subject=f"user {person.pk}", content=_told(shift))
    return shift


@attempts.noted("shift.end", "shift {}")
def end_shift(shift_id: int, *, by: Actor) -> None:
    """Take a shift off the rota. Refuses NotYours, and Stale one that is off it."""
    with committing("shift"):
        team.administrator(by)
        row = (
            models.Shift.objects.select_for_update(no_key=True, of=("self",))
            .select_related("group", "person")
            .get(pk=shift_id)
        )
        if row.ended_at is not None:
            raise Stale("This is off the rota already.")
        row.ended_at = clock_time.now()
        row.save(update_fields=["ended_at"])
        audit.append("shift.ended", actor=by, subject=f"user {row.person_id}", content=_told(row))


def _told(shift: models.Shift) -> dict[str, str]:
    return {
        "group": shift.group.name,
        "days": " ".join(DAYS[day] for day in shift.days),
        "hours": f"{shift.starts:%H:%M} to {shift.ends:%H:%M} {settings.TIME_ZONE}",
        "from": shift.since.isoformat(),
        "until": shift.until.isoformat() if shift.until else "",
    }


def _own(principal_id: int, by: Actor, refusal: str) -> models.User:
    user = by.user
    if user is None or by.token is not None:
        raise NotYours(refusal)
    if user.pk != principal_id and not rights.may(user.roles(), rights.Act.PEOPLE):
        raise NotYours(refusal)
    return user
