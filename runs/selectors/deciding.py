"""Whether somebody may answer a question, and why not in one sentence.

The transition decides again under lock; this is what the page says beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.auth.models import Group

from runs import lifecycle, models, rights
from runs.models import team


@dataclass(frozen=True, kw_only=True)
class Viewer:
    """Who looks at the page, with the roles that the request has read."""

    user: models.User
    roles: frozenset[str]

    def may(self, act: rights.Act) -> bool:
        """Return whether this person may do `act`."""
        return rights.may(self.roles, act)


def desk(viewer: Viewer) -> team.Desk:
    """Return who is on duty instead of this person, and in whose place they decide now; read once for each request."""
    known: team.Desk | None = getattr(viewer.user, "_desk_of_request", None)
    if known is None:
        known = team.desk(viewer.user) if viewer.may(rights.Act.DECIDE) else team.NOBODY
        viewer.user._desk_of_request = known  # type: ignore[attr-defined]  # a cache on the request's own user object
    return known


def principal(review: models.Review, viewer: Viewer) -> models.User | None:
    """Return in whose place this person would decide it; None in their own, or not at all."""
    if rights.may_decide(viewer.roles, review.groups) or not desk(viewer).in_place:
        return None
    known: list[tuple[models.User, frozenset[str]]] | None = getattr(
        viewer.user, "_principals_of_request", None
    )
    if known is None:
        known = [(one, one.roles()) for one in team.principals(viewer.user)]
        viewer.user._principals_of_request = known  # type: ignore[attr-defined]  # a cache on the request's user
    return next((one for one, roles in known if rights.may_decide(roles, review.groups)), None)


def may_decide(review: models.Review, viewer: Viewer) -> bool:
    """Return whether this person may decide it, in their own name or in somebody's place."""
    return rights.may_decide(viewer.roles, review.groups) or principal(review, viewer) is not None


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
    if may_decide(review, viewer):
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
    whom = principal(review, viewer) if review.separation and not why else None
    if whom is not None and (of_them := review.why_apart(whom.pk)):
        why = f"You stand in for {whom.display()}, and of them it holds: {of_them}"
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
