"""The inbox: what waits for a person, and what was decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Count, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from runs import lifecycle, models
from runs.selectors import deciding, keyset, ledger, now, page_models, queue, tools

SIZE = 50
LARGE = 100_000
WAITING, DECIDED = "waiting", "decided"


def page(viewer: deciding.Viewer, params: Mapping[str, str]) -> page_models.InboxPage:
    """Return one page of the tab that `params` names."""
    counted = queue.counts(viewer)
    only = _only(params)
    on_decided = params.get("tab") == DECIDED
    rows: tuple[page_models.InboxRow, ...] = ()
    decided: tuple[page_models.DecidedRow, ...] = ()
    known = ""
    if on_decided:
        decided, paging = _decided(params)
    else:
        total = {"": counted.total, queue.OTHERS: counted.others, **counted.by_filter}[only]
        rows, paging = _waiting(viewer, params, only=only, total=total)
        known = _known(counted.newest, [row.review_id for row in rows])
    return page_models.InboxPage(
        tabs=(
            page_models.Tab(
                name=WAITING, label="Waiting", count=counted.total, current=not on_decided, query=""
            ),
            page_models.Tab(
                name=DECIDED, label="Decided", count=None, current=on_decided, query=f"tab={DECIDED}"
            ),
        ),
        filters=() if on_decided else _filters(counted, only, own=queue.answers(viewer)),
        rows=rows,
        decided=decided,
        page=paging,
        filtered=bool(only),
        known=known,
        may_decide=queue.answers(viewer),
        reminders=_reminders(viewer),
    )


def _reminders(viewer: deciding.Viewer) -> tuple[page_models.Reminder, ...]:
    """Return the pauses that this person set and is to be reminded of by now."""
    rows = models.Run.objects.filter(
        status=lifecycle.Run.PAUSED, hold_by=viewer.user, remind_at__lte=now.ClockNow()
    )
    return tuple(
        page_models.Reminder(run_id=row.pk, title=row.title, reason=row.hold_reason)
        for row in rows.only("title", "hold_reason").order_by("remind_at")[:SIZE]
    )


def _only(params: Mapping[str, str]) -> str:
    only = params.get("only", "")
    return only if only in queue.FILTERS or only == queue.OTHERS else ""


def news(viewer: deciding.Viewer, params: Mapping[str, str]) -> page_models.InboxNews:
    """Return how many questions came and went since the list with `known` was drawn."""
    newest, listed, ids = params.get("known", "").partition(":")
    if not listed:  # a list without waiting questions, such as the decided ones
        return page_models.InboxNews(fresh=0, gone=0, empty=False)
    seen = [
        int(part)
        for part in ids.split(",")[: SIZE + 1]
        if part.isascii() and part.isdigit() and len(part) < 19
    ]
    rows = queue.waiting(viewer, _only(params))
    above = int(newest) if newest.isascii() and newest.isdigit() and len(newest) < 19 else 0
    found = rows.aggregate(
        fresh=Count("pk", filter=Q(pk__gt=above)), still=Count("pk", filter=Q(pk__in=seen))
    )
    return page_models.InboxNews(fresh=found["fresh"], gone=len(set(seen)) - found["still"], empty=not seen)


def _known(newest: int, ids: Sequence[int]) -> str:
    return f"{newest}:{','.join(str(number) for number in ids)}"


def _filters(counted: queue.Counts, only: str, *, own: bool) -> tuple[page_models.Choice, ...]:
    if not counted.total and not counted.others and not only:
        return ()
    label = "Yours" if own else "All"
    every = page_models.Choice(label=label, query="", current=not only, count=counted.total)
    others = page_models.Choice(
        label="Others", query=f"only={queue.OTHERS}", current=only == queue.OTHERS, count=counted.others
    )
    return (
        every,
        *(
            page_models.Choice(
                label=label, query=f"only={name}", current=only == name, count=counted.by_filter[name]
            )
            for name, (label, _) in queue.FILTERS.items()
            if counted.by_filter[name] or only == name
        ),
        *((others,) if counted.others or others.current else ()),
    )


def _waiting(
    viewer: deciding.Viewer, params: Mapping[str, str], *, only: str, total: int
) -> tuple[tuple[page_models.InboxRow, ...], page_models.Page]:
    waiting = queue.waiting(viewer, only).select_related("run__agent_version__agent", "action")
    rows = with_steps(waiting).annotate(now=now.ClockNow())
    found, paging = keyset.page(
        rows,
        by=queue.ORDER,
        params=params,
        size=SIZE,
        descending=False,
        keep={"only": only} if only else None,
        total=total,
    )
    arguments = ledger.arguments([row.action for row in found if row.action is not None], largest=LARGE)
    others = deciding.held_by_others(viewer.user)
    written = deciding.written_by(viewer.user, found)
    return tuple(_row(row, viewer, arguments, others, written) for row in found), paging


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


def _row(
    review: Any,
    viewer: deciding.Viewer,
    arguments: Mapping[int, Any],
    others: frozenset[str],
    written: frozenset[int],
) -> page_models.InboxRow:
    run = review.run
    agent = run.agent_version.agent
    names = tools.telling(review.action.tool) if review.action else ()
    blocked = "" if not deciding.blocked(review, viewer) else "Not yours to decide"
    if not blocked and deciding.approval_blocked(review, viewer, others=others, written=written):
        blocked = f"{review.why_apart(viewer.user.pk, written=written)}: somebody else releases it"
    effect = effect_of(review)
    facts = tools.facts(arguments.get(review.action_id), names)
    telling = tuple(fact for fact in facts if fact.value and fact.value not in effect)
    return page_models.InboxRow(
        review_id=review.pk,
        kind=review.kind,
        tier=review.tier,
        effect=effect,
        decisive=telling,
        about="" if telling else review.step_title or "",  # one of both tells it apart; together they repeat
        agent=agent.title or agent.name,
        run_id=run.pk,
        run_title=run.title,
        waiting_since=review.opened_at,
        due_at=review.due_at,
        overdue=review.due_at < review.now,
        expires_at=review.expires_at,
        step=f"step {review.step_at} of {review.step_count}" if review.step_at else "",
        cost=now.dollars(run.cost_micro, known=run.cost_known) if run.tokens_in or run.cost_micro else None,
        votes=f"{review.votes} of {review.quorum} approvals" if review.quorum > 1 else "",
        blocked=blocked,
    )


def _decided(params: Mapping[str, str]) -> tuple[tuple[page_models.DecidedRow, ...], page_models.Page]:
    rows = models.Decision.objects.select_related("review__action", "review__run", "person")
    found, paging = keyset.page(rows, by=("id",), params=params, size=SIZE, keep={"tab": DECIDED})
    return tuple(
        page_models.DecidedRow(
            review_id=row.review_id,
            kind=row.review.kind,
            tier=row.review.tier,
            effect=effect_of(row.review),
            status=row.review.status,
            by=row.person.display(),
            at=row.created_at,
            reason=row.reason,
            run_id=row.review.run_id,
            run_title=row.review.run.title,
        )
        for row in found
    ), paging
