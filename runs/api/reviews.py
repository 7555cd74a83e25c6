"""Questions: list, read whole, decide. A program's token of an agent or a service never decides."""

from __future__ import annotations

from django.http import HttpResponse
from ninja import Query, Router

from runs import access, exact, models, rights
from runs.api import acts, door, shapes
from runs.forms import marks
from runs.selectors import filters, record_models, record_reviews
from runs.transitions import answers, api_calls, decisions, refusals
from runs.transitions.actor import Actor

router = Router()


@router.get("/reviews", response=record_models.Reviews, operation_id="list_reviews", summary="List questions")
def listed(request: door.Request, asked: Query[shapes.Questions]) -> HttpResponse:
    """The open ones as the inbox orders them, the closed ones newest first."""
    access.see(request.user)
    chosen = filters.Filters(
        tab=asked.tab,
        kind=asked.kind,
        tier=asked.tier,
        overdue=asked.overdue,
        tool=asked.tool,
        agent=asked.agent,
        q=filters.typed(asked.q),
    )
    page = record_reviews.listed(
        door.viewer(request),
        chosen,
        status=asked.status,
        run=asked.run,
        cursor=asked.cursor,
        limit=asked.limit,
    )
    return acts.answer(page)


@router.get(
    "/reviews/{int:review_id}",
    response=record_models.Review,
    operation_id="read_review",
    summary="Read a question",
)
def read(request: door.Request, review_id: int) -> HttpResponse:
    """The whole arguments as they will run, their canonical text and digest, and what an answer has to name."""
    return acts.answer(_record(request, access.review_for(request.user, review_id)))


@router.post(
    "/reviews/{int:review_id}/decide",
    response=record_models.Review,
    operation_id="decide_review",
    summary="Answer a question",
)
def decide(request: door.Request, review_id: int, body: shapes.Decide) -> HttpResponse:
    """Bound to what was read: 409 with who decided what, or what is asked by now, where that is no longer so."""
    review = access.review_for(request.user, review_id)
    access.require(request.user, rights.OWN_RIGHT.get(review.kind, rights.Act.DECIDE))

    def act(by: Actor, token: str) -> int:
        decisions.decide(review.pk, _answer(review, body, token), by=by)
        return review.run_id

    try:
        return acts.once(request, act, lambda _: _record(request, access.review_for(request.user, review_id)))
    except api_calls.InFlight:
        raise
    except refusals.Stale as refusal:
        more = {"decided": record_reviews.conflict(review.pk, door.viewer(request))}
        raise door.Refused(409, refusal.message, kind="stale", more=more) from refusal


def _record(request: door.Request, row: models.Review) -> record_models.Review:
    return record_reviews.review(
        row.pk,
        door.viewer(request),
        verdicts=answers.offered(row),
        sign=lambda moment: marks.sign(moment, review_id=row.pk),
    )


def _answer(review: models.Review, body: shapes.Decide, token: str) -> answers.Answer:
    value = exact.canonical(body.value) if "value" in body.model_fields_set else None
    return answers.Answer(
        verdict=body.verdict,
        revision=body.revision,
        digest=body.digest,
        token=token,
        reason=body.reason,
        retype=body.retype,
        receipt=body.receipt,
        amount=body.amount,
        which=body.which,
        value=value,
        evidence_number=body.evidence_number,
        tightened=body.tightened,
        rendered_at=marks.read(body.seen, review_id=review.pk),
        stop=body.stop,
    )
