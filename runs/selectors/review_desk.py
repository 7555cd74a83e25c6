"""The review page's part about who has the question and when: put off, handed over, and to whom it could be."""

from __future__ import annotations

from typing import Any

from django.db.models import OuterRef, Q, Subquery

from runs import lifecycle, models, rights
from runs.models import desk, scopes
from runs.selectors import deciding, inbox_models, inbox_rows, now

MANY = 200


def shown(review: Any, viewer: deciding.Viewer) -> inbox_models.Desk | None:
    """Return it, in one query; `put_off_until` is read with the question.

    None where this person couldn't answer it, or nobody can any more.
    """
    handed = inbox_rows.handed(review, viewer)
    if review.status != lifecycle.Review.OPEN:
        return None
    own = rights.may_answer(viewer.roles, review.kind, review.groups)
    if not own and deciding.principal(review, viewer) is None:
        return inbox_models.Desk(handed=handed) if handed else None
    return inbox_models.Desk(
        handed=handed,
        snoozed_until=review.put_off_until,
        spans=tuple(
            inbox_models.Span(value=name, label=words, until=until)
            for name, (words, _) in desk.SPANS.items()
            if (until := models.Snooze.end(review, name, review.now)) is not None
        ),
        people=_people(review, viewer),
        may=True,
    )


def put_off_until(viewer: deciding.Viewer) -> Subquery:
    """Return the part of a question's query that says until when this person has put it off."""
    own = models.Snooze.objects.filter(review=OuterRef("pk"), person=viewer.user, until__gt=now.ClockNow())
    return Subquery(own.values("until")[:1])


def _people(review: models.Review, viewer: deciding.Viewer) -> tuple[inbox_models.Person, ...]:
    """Return who else may see and answer it, by name, after the reader; not who has it already."""
    allowed = Q(groups__name__in=rights.answerers(review.kind, review.groups)) | Q(is_superuser=True)
    seeing = scopes.who_see(review.run.agent_version.agent_id)
    rows = models.User.objects.filter(allowed, seeing, is_active=True).distinct().order_by("username")[:MANY]
    has = getattr(review, "handover", None)
    found = [row for row in rows if has is None or has.to_id != row.pk]
    found.sort(key=lambda row: row.pk != viewer.user.pk)
    return tuple(
        inbox_models.Person(
            value=row.pk,
            label="Me" if row.pk == viewer.user.pk else _named(row),
            me=row.pk == viewer.user.pk,
        )
        for row in found
        if row.pk != viewer.user.pk or has is not None
    )


def _named(person: models.User) -> str:
    """Return the name with the user name, so that two people of one name can be told apart."""
    name, user_name = person.display(), person.get_username()
    return name if name == user_name else f"{name} ({user_name})"
