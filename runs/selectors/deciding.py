"""Whether somebody may answer a question, and why not in one sentence.

The transition decides again under lock; this is what the page says beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import Group

from runs import lifecycle, models, rights


@dataclass(frozen=True, kw_only=True)
class Viewer:
    """Who looks at the page, with the roles that the request has read."""

    user: models.User
    roles: frozenset[str]

    def may(self, act: rights.Act) -> bool:
        """Return whether this person may do `act`."""
        return rights.may(self.roles, act)


def held_by_others(user: models.User) -> frozenset[str]:
    """Return the groups that an active person other than `user` is in."""
    others = models.User.objects.filter(is_active=True).exclude(pk=user.pk)
    return frozenset(Group.objects.filter(user__in=others).distinct().values_list("name", flat=True))


def blocked(review: models.Review, viewer: Viewer) -> str:
    """Return why this person can't answer at all, or an empty text."""
    if review.kind == lifecycle.ReviewKind.FAILURE:
        return "" if viewer.may(rights.Act.ANSWER_FAILURE) else _needs("Answering this", rights.OPERATOR)
    if review.kind == lifecycle.ReviewKind.BUDGET:
        return "" if viewer.may(rights.Act.RAISE_BUDGET) else _needs("Answering this", rights.OPERATOR)
    if rights.may_decide(viewer.roles, review.groups):
        return ""
    return _needs("Deciding this", *review.groups)


def written_by(user: models.User, reviews: Iterable[models.Review]) -> frozenset[int]:
    """Return the actions behind these questions whose arguments this person wrote, in one query."""
    actions = [review.action_id for review in reviews if review.separation and review.action_id is not None]
    rows = models.Revision.objects.filter(action__in=actions, author=user) if actions else None
    return frozenset(rows.values_list("action_id", flat=True)) if rows is not None else frozenset()


def approval_blocked(
    review: models.Review, viewer: Viewer, *, others: frozenset[str], written: frozenset[int] | None = None
) -> str:
    """Return why this person may reject but not approve: it is theirs, and somebody else could decide."""
    why = review.why_apart(viewer.user.pk, written=written) if review.separation else ""
    if not why or others.isdisjoint({*review.groups, rights.ADMIN}):
        return ""  # where nobody else could, separation can't be kept, and the page says so
    return f"{why}, so somebody else has to release this."


def alone(review: models.Review, viewer: Viewer, *, others: frozenset[str]) -> bool:
    """Return whether separation is off only because there is no second person."""
    return (
        review.separation
        and others.isdisjoint({*review.groups, rights.ADMIN})
        and bool(review.why_apart(viewer.user.pk))
    )


def _needs(what: str, *groups: str) -> str:
    named = " or ".join(f"“{group}”" for group in groups)
    return f"You may read this. {what} needs the group {named}; an administrator can add you."
