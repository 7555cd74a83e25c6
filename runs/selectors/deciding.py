"""Whether somebody may answer a question, and why not in one sentence.

The transition decides again under lock; this is what the page says beforehand.
"""

from __future__ import annotations

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


def approval_blocked(
    review: models.Review, viewer: Viewer, *, started_by: int, others: frozenset[str]
) -> str:
    """Return why this person may reject but not approve: they started the run, and somebody else could decide."""
    if not review.separation or started_by != viewer.user.pk:
        return ""
    if others.isdisjoint({*review.groups, rights.ADMIN}):
        return ""  # nobody else could: separation can't be kept, and the page says so
    return "You started this run, so somebody else has to release this."


def alone(review: models.Review, viewer: Viewer, *, started_by: int, others: frozenset[str]) -> bool:
    """Return whether separation is off only because there is no second person."""
    return (
        review.separation
        and started_by == viewer.user.pk
        and others.isdisjoint({*review.groups, rights.ADMIN})
    )


def _needs(what: str, *groups: str) -> str:
    named = " or ".join(f"“{group}”" for group in groups)
    return f"You may read this. {what} needs the group {named}; an administrator can add you."
