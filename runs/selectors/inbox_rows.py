"""The lines of the inbox: what tells one question from the next, in a fixed number of queries a page."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, F, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils import timezone

from runs import lifecycle, models
from runs.models import scopes
from runs.selectors import (
    deciding,
    filters,
    inbox_models,
    ledger,
    now,
    queue,
    review_before,
    run_family,
    tools,
)

LARGE = 100_000
ALONE = 3
"""From this tier on a question is decided on a page of its own."""


def waiting(viewer: deciding.Viewer, chosen: filters.Filters) -> QuerySet[models.Review]:
    """Return the questions of the list, with everything that a line needs."""
    rows = queue.listed(viewer, chosen).select_related(
        "run__agent_version__agent", "run__parent__agent_version", "action", "handover__to", "handover__by"
    )
    return with_steps(rows).annotate(now=now.ClockNow(), put_off_until=F("put_off__until"))


def decided(viewer: deciding.Viewer, chosen: filters.Filters) -> QuerySet[models.Decision]:
    """Return the decisions of the list: today's, or all of them."""
    rows = models.Decision.objects.select_related("review__action", "review__run", "person")
    rows = rows.filter(scopes.seen(viewer.user, "review__run__agent_version__agent"))
    rows = rows.filter(chosen.but(overdue=False, age="").condition("review__"))
    return rows if chosen.earlier else rows.filter(created_at__gte=today())


def today() -> datetime.datetime:
    """Return when this day began."""
    return timezone.localtime().replace(hour=0, minute=0, second=0, microsecond=0)


def with_steps(rows: QuerySet[models.Review]) -> QuerySet[models.Review]:
    """Return the reviews with `step_at`, `step_title` and `step_count`: where the action stands in its run's plan."""
    steps = models.PlanStep.objects.filter(run=OuterRef("run"))
    count = steps.order_by().values("run").annotate(n=Count("pk")).values("n")
    own = steps.filter(key=OuterRef("action__step"))
    return rows.annotate(
        step_at=Subquery(own.annotate(n=F("order") + 1).values("n")[:1]),
        step_title=Subquery(own.values("title")[:1]),
        step_count=Coalesce(Subquery(count), 0),
    )


def effect_of(review: models.Review) -> str:
    """Return in one sentence what the question is about."""
    if review.kind == lifecycle.ReviewKind.IN_DOUBT and review.action is not None:
        shown = review.action.preview or {}
        return f"Did this happen? {shown.get('summary') or tools.title(review.action.tool)}"
    if review.kind == lifecycle.ReviewKind.FAILURE:
        return str((review.content or {}).get("cause") or review.title)
    return review.title


def of_reviews(found: Sequence[Any], viewer: deciding.Viewer) -> tuple[inbox_models.InboxRow, ...]:
    """Return the lines of these questions, which `waiting` has read."""
    arguments = ledger.arguments([row.action for row in found if row.action is not None], largest=LARGE)
    others = deciding.held_by_others(viewer.user)
    written = deciding.written_by(viewer.user, found)
    return tuple(_row(row, viewer, arguments, others, written) for row in found)


def _row(
    review: Any,
    viewer: deciding.Viewer,
    arguments: Mapping[int, Any],
    others: frozenset[str],
    written: frozenset[int],
) -> inbox_models.InboxRow:
    run = review.run
    agent = run.agent_version.agent
    names = tools.telling(review.action.tool) if review.action else ()
    blocked = "" if not deciding.blocked(review, viewer) else "Not yours to decide"
    if not blocked and deciding.approval_blocked(review, viewer, others=others, written=written):
        why = review.why_apart(viewer.user.pk, written=written)
        blocked = f"{why}: somebody else releases it" if why else "Somebody else releases it"
    effect = effect_of(review)
    facts = tools.facts(arguments.get(review.action_id), names)
    telling = tuple(fact for fact in facts if fact.value and fact.value not in effect)
    put_off, again = review.put_off_until, review_before.marked(review)
    return inbox_models.InboxRow(
        review_id=review.pk,
        kind=review.kind,
        tier=review.tier,
        effect=effect,
        decisive=telling,
        about="" if telling else review.step_title or "",  # one of both tells it apart; together they repeat
        agent=agent.title or agent.name,
        run_id=run.pk,
        run_title=run.title,
        parent=run_family.above(run, viewer),
        waiting_since=review.opened_at,
        due_at=review.due_at,
        overdue=review.due_at < review.now,
        tool=review.action.tool if review.action else "",
        expires_at=review.expires_at,
        step=f"step {review.step_at} of {review.step_count}" if review.step_at else "",
        cost=now.dollars(run.cost_micro, known=run.cost_known) if run.tokens_in or run.cost_micro else None,
        votes=f"{review.votes} of {review.quorum} approvals" if review.quorum > 1 else "",
        blocked=blocked,
        handed=handed(review, viewer),
        snoozed_until=put_off if put_off is not None and put_off > review.now else None,
        again=again,
        together=review.kind == lifecycle.ReviewKind.ACTION
        and review.tier < ALONE
        and not blocked
        and not again,
    )


def handed(review: models.Review, viewer: deciding.Viewer) -> inbox_models.Handed | None:
    """Return who has the question now, or None where nobody in particular; `handover` is selected with it."""
    found = getattr(review, "handover", None)
    if found is None:
        return None
    return inbox_models.Handed(
        to=found.to.display(),
        by=found.by.display(),
        note=found.note,
        at=found.at,
        mine=found.to_id == viewer.user.pk,
    )


def of_decisions(found: Sequence[models.Decision]) -> tuple[inbox_models.DecidedRow, ...]:
    """Return the lines of these decisions."""
    return tuple(
        inbox_models.DecidedRow(
            review_id=row.review_id,
            kind=row.review.kind,
            tier=row.review.tier,
            effect=effect_of(row.review),
            status="noted" if row.review.status == lifecycle.Review.OPEN else row.review.status,
            by=row.person.display(),
            at=row.created_at,
            reason=row.reason,
            run_id=row.review.run_id,
            run_title=row.review.run.title,
        )
        for row in found
    )
