"""Questions as the API shows them: everything that an answer has to name, whole and exact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.conf import settings
from django.urls import reverse

from runs import exact, lifecycle, models
from runs.models import scopes
from runs.selectors import deciding, filters, inbox_rows, now, queue, record_models, records, reviews

OPEN, CLOSED = "open", "closed"


def listed(
    viewer: deciding.Viewer, chosen: filters.Filters, *, status: str, run: int | None, cursor: str, limit: int
) -> record_models.Reviews:
    """Return one page: the open ones by their due time, the closed ones newest first."""
    if status == CLOSED:
        rows = models.Review.objects.exclude(status=lifecycle.Review.OPEN).filter(
            scopes.seen(viewer.user, "run__agent_version__agent"), chosen.condition()
        )
    else:
        rows = queue.listed(viewer, chosen)
    if run is not None:
        rows = rows.filter(run=run)
    keep = {
        **dict(chosen.parts),
        "status": status,
        "run": "" if run is None else str(run),
        "limit": str(limit),
    }
    rows = rows.select_related("run__agent_version__agent", "action").defer(
        *(f"run__{name}" for name in records.NOT_IN_LISTS)
    )
    closed = status == CLOSED
    by = ("id",) if closed else queue.ORDER
    found, more = records.page(rows, by=by, cursor=cursor, limit=limit, keep=keep, descending=closed)
    return record_models.Reviews(
        items=tuple(record_models.ReviewLine(**_line(row)) for row in found),
        next=records.following("reviews", more),
    )


def review(
    review_id: int,
    viewer: deciding.Viewer,
    *,
    verdicts: tuple[str, ...],
    sign: Callable[[record_models.Moment], str],
) -> record_models.Review:
    """Return a question that `access` has given; `verdicts` is what it takes, `sign` proves when it was read."""
    rows = models.Review.objects.select_related("run__agent_version__agent", "action__occurrence")
    row: Any = rows.annotate(now=now.ClockNow()).get(pk=review_id)
    action = row.action
    text, sound = reviews.arguments(row)
    retype = (row.content or {}).get("retype")
    return record_models.Review(
        **_line(row),
        revision=row.revision,
        digest=row.digest,
        evidence_number=reviews.evidence(row),
        tightened=row.tightened,
        verdicts=verdicts if row.status == lifecycle.Review.OPEN else (),
        blocked=deciding.blocked(row, viewer),
        arguments=exact.stored(text) if text else None,
        arguments_text=text,
        arguments_digest=action.digest if action is not None else "",
        sound=sound,
        preview=action.preview if action is not None else None,
        precondition=action.precondition if action is not None else None,
        content=row.content,
        reason_required=reviews.reason_required(row),
        retype=record_models.Retype(field=retype["field"], value=str(retype["value"])) if retype else None,
        groups=tuple(row.groups),
        quorum=row.quorum,
        votes=row.votes,
        separation=row.separation,
        undo_seconds=row.undo_seconds,
        answer=row.answer,
        decisions=decisions(row, viewer),
        seen=sign(row.now),
    )


def decisions(row: models.Review, viewer: deciding.Viewer) -> tuple[record_models.Given, ...]:
    """Return what was answered, oldest first; while the question is open only the viewer's own."""
    rows = row.decisions.select_related("person").order_by("pk")
    if row.status == lifecycle.Review.OPEN:
        rows = rows.filter(person=viewer.user)
    return tuple(
        record_models.Given(
            by=given.person.get_username(),
            verdict=given.verdict,
            reason=given.reason,
            revision=given.revision,
            at=given.created_at,
            channel=given.channel,
        )
        for given in rows
    )


def conflict(review_id: int, viewer: deciding.Viewer) -> dict[str, Any]:
    """Return how a question stands now, for who came too late: who decided what and when, or what is asked by now."""
    row = models.Review.objects.select_related("action").get(pk=review_id)
    return {
        "status": row.status,
        "revision": row.revision,
        "digest": row.digest,
        "evidence_number": reviews.evidence(row),
        "tightened": row.tightened,
        "decisions": [given.model_dump(mode="json") for given in decisions(row, viewer)],
    }


def _line(row: models.Review) -> dict[str, Any]:
    return {
        "id": row.pk,
        "run": row.run_id,
        "run_title": row.run.title,
        "agent": row.run.agent_version.agent.name,
        "kind": row.kind,
        "status": row.status,
        "tier": row.tier,
        "title": inbox_rows.effect_of(row),
        "tool": row.action.tool if row.action is not None else "",
        "opened_at": row.opened_at,
        "due_at": row.due_at,
        "expires_at": row.expires_at,
        "closed_at": row.closed_at,
        "url": settings.PUBLIC_URL + reverse("review", args=[row.pk]),
    }
