"""Whose Slack account is whose: linked by a one-time code that the person takes there, or by an administrator."""

from __future__ import annotations

import datetime
import re
import secrets

from django.db import IntegrityError

from runs import exact, models, rights
from runs.transitions import attempts, audit, clock_time, notice_audience, proofs
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours

CODE_HOLDS = datetime.timedelta(minutes=10)
_MEMBER = re.compile(r"[A-Z0-9]{3,40}\Z")


@attempts.noted("slack.code", "slack")
def code(*, by: Actor) -> str:
    """Return a new one-time code, shown once; the one before it is good for nothing. Refuses NotYours and Unproven."""
    roles = by.user.roles() if by.user is not None and by.token is None else frozenset()
    if not (rights.may(roles, rights.Act.DECIDE) or rights.may(roles, rights.Act.ANSWER_FAILURE)):
        raise NotYours(
            "You are asked nothing there; people in the group “reviewer”, “operator” or “admin” can link their account."
        )
    assert by.user is not None
    proofs.check(by, clock_time.now())
    text = secrets.token_urlsafe(12)
    with committing("slack_code"):
        until = clock_time.now() + CODE_HOLDS
        values = {"code": exact.digest(text), "code_until": until}
        models.SlackLink.objects.update_or_create(person=by.user, defaults=values)
        audit.append("slack.code_made", actor=by, subject=f"person {by.user.pk}")
    return text


def link_by_code(text: str, *, team: str, member: str, ip: str | None) -> models.User | None:
    """Return whose account the code has just linked with the member; None for a code that isn't good (any more)."""
    try:
        with committing("slack_link"):
            rows = models.SlackLink.objects.select_for_update(no_key=True, of=("self",)).select_related(
                "person"
            )
            row = rows.filter(code=exact.digest(text.strip()), code_until__gt=clock_time.now()).first()
            if row is None or not row.person.is_active:
                return None
            row.team, row.member, row.code, row.code_until = team, member, "", None
            row.linked_at = clock_time.now()
            row.save()
            by = Actor(user=row.person, channel="slack", ip=ip)
            audit.append(
                "slack.linked", actor=by, subject=f"person {row.person_id}", content={"member": member}
            )
            return row.person
    except IntegrityError:  # somebody else's account here is linked with this member
        return None


@attempts.noted("slack.link", "person {}")
def link(person_id: int, *, team: str, member: str, by: Actor) -> None:
    """Link a person with a member of the team.

    Refuses NotYours, Invalid for no member and for somebody else's, and Unproven who hasn't shown lately who they are.
    """
    notice_audience.only_admins(by)
    if not _MEMBER.match(member) or not _MEMBER.match(team):
        raise Invalid(
            "A member is named like U012AB3CD, in capital letters and digits, and SLACK_TEAM must be set."
        )
    if not models.User.objects.filter(pk=person_id, is_active=True).exists():
        raise Invalid("Choose a person.")
    proofs.check(by, clock_time.now())
    try:
        with committing("slack_link"):
            values = {
                "team": team,
                "member": member,
                "code": "",
                "code_until": None,
                "linked_at": clock_time.now(),
            }
            models.SlackLink.objects.update_or_create(person_id=person_id, defaults=values)
            audit.append("slack.linked", actor=by, subject=f"person {person_id}", content={"member": member})
    except IntegrityError as error:
        raise Invalid("This member is somebody else already.") from error


@attempts.noted("slack.unlink", "person {}")
def unlink(person_id: int, *, by: Actor) -> None:
    """End a link; twice is once. Refuses NotYours for somebody else's, unless one looks after the installation."""
    if by.user is None or by.token is not None or by.user.pk != person_id:
        notice_audience.only_admins(by)
    with committing("slack_unlink"):
        count, _ = models.SlackLink.objects.filter(person_id=person_id).delete()
        if count:
            audit.append("slack.unlinked", actor=by, subject=f"person {person_id}")


def person_of(team: str, member: str) -> models.User | None:
    """Return the active person who is linked with the member."""
    row = (
        models.SlackLink.objects.select_related("person").filter(team=team, member=member).exclude(member="")
    )
    found = row.first()
    return found.person if found is not None and found.person.is_active else None
