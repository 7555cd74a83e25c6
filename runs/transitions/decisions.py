"""People's decisions on reviews: one winner each, bound to what was seen."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.db import IntegrityError

from runs import exact, hints, lifecycle, models
from runs.models import cards
from runs.transitions import (
    answers,
    attempts,
    audit,
    budgets,
    clock_time,
    contradictions,
    holds,
    inbox,
    judging,
    log,
    pins,
    texts,
)
from runs.transitions.actor import Actor
from runs.transitions.answers import ABSENT_DO as ABSENT_DO
from runs.transitions.answers import ABSENT_LEAVE as ABSENT_LEAVE
from runs.transitions.answers import ANSWERS as ANSWERS
from runs.transitions.answers import APPROVE as APPROVE
from runs.transitions.answers import HAPPENED as HAPPENED
from runs.transitions.answers import REJECT as REJECT
from runs.transitions.answers import RETRY as RETRY
from runs.transitions.answers import STOP as STOP
from runs.transitions.answers import UNKNOWN as UNKNOWN
from runs.transitions.answers import Answer as Answer
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

USED = "This form was used already; load the page again."


@attempts.noted("review.decide", "review {}")
def decide(review_id: int, answer: Answer, *, by: Actor) -> models.Decision:
    """Return the recorded decision; the same token again returns what it recorded.

    Refuses NotYours without the right, Invalid where the answer doesn't fit the question, and Stale when the review
    is closed, expired, at another revision, or evidence has arrived that wasn't seen.
    """
    answer = checked(answer)
    if (known := repeated(review_id, answer, by)) is not None:
        return known
    run_id = judging.run_of(review_id)
    try:
        with committing("decide"):
            run = inbox.lock(run_id)
            review = locked([review_id])[review_id]
            # Two clicks at once: the second has waited for the lock, and the first has recorded its answer.
            if (known := repeated(review_id, answer, by)) is not None:
                return known
            decision = record(run, review, answer, by=by)
            tell_auditors(run, decision, answer, by=by)
            if _stops(review, answer) and run.stop_at is None and run.status not in lifecycle.RUN_ENDED:
                holds.ask_stop(run, reason=answer.reason, by=by)
            hints.changed(run.pk, inbox=True)
    except IntegrityError as error:
        # The same token for two questions at once: one of them has it.
        raise Stale(USED) from error
    budgets.wake(review, by=by)
    return decision


def checked(answer: Answer) -> Answer:
    """Return the answer with its texts trimmed; refuse (Invalid) what can't be stored."""
    return replace(
        answer,
        token=texts.token(answer.token),
        reason=texts.typed(answer.reason, "reason"),
        receipt=texts.typed(answer.receipt, "evidence"),
        retype=texts.typed(answer.retype, "retyped value"),
    )


def locked(review_ids: Iterable[int]) -> dict[int, models.Review]:
    """Return the reviews by id, locked in the order of their ids; the caller holds the run's lock."""
    rows = models.Review.objects.select_for_update(no_key=True, of=("self",)).filter(pk__in=list(review_ids))
    return {row.pk: row for row in rows.select_related("action__occurrence").order_by("pk")}


def record(run: models.Run, review: models.Review, answer: Answer, *, by: Actor) -> models.Decision:
    """Return the recorded decision on a locked review; what it closes becomes a fact for the engine."""
    assert by.user is not None
    now = clock_time.now()
    principal = answers.check_right(review, answer, by.user)
    answers.check_door(review, answer, by)
    if answer.stop or (answer.verdict == STOP and pins.asked(review)):
        holds.may_stop(by)
    answers.check_fresh(review, answer, now)
    answers.check_fit(review, run, answer, now, by=by)
    decision = entered(run, review, answer, principal=principal, now=now, by=by)
    budgets.answered(run, review, answer.verdict, answer.amount, by=by)
    return decision


def entered(
    run: models.Run,
    review: models.Review,
    answer: Answer,
    *,
    principal: models.User | None,
    now: datetime.datetime,
    by: Actor,
) -> models.Decision:
    """Return the decision, entered and counted; the caller has checked it, and holds the locks."""
    assert by.user is not None
    decision = models.Decision.objects.create(
        review=review,
        revision=review.revision,
        person=by.user,
        on_behalf_of=principal,
        verdict=answer.verdict,
        reason=answer.reason,
        content=content_of(
            receipt=answer.receipt, amount=answer.amount, which=answer.which, value=answer.value
        ),
        digest=review.digest,
        token=answer.token,
        channel=by.channel,
        ip=by.ip,
        through=by.token,
    )
    closed = _count(review, answer, now)
    review.save(update_fields=["status", "votes", "answer", "closed_at", "quorum", "alone_by"])
    if closed:
        _tell(run, review, answer, by)
    return decision


def tell_auditors(run: models.Run, decision: models.Decision, answer: Answer, *, by: Actor) -> None:
    """Append the decision to the audit chain, as the transaction's last lock."""
    review, content = decision.review, dict(_facts(decision.review, answer))
    if decision.on_behalf_of is not None:
        by = replace(by, on_behalf_of=decision.on_behalf_of)
        content["in_place_of"] = decision.on_behalf_of_id
    audit.append(
        f"review.{answer.verdict}",
        actor=by,
        run=run,
        subject=f"review {review.pk}",
        content=content,
        seen=cards.digest(review),
    )
    if answer.verdict in answers.CONTRADICTED:
        occurrence = answers.contradicted(review)
        audit.append(
            "occurrence.answered",
            actor=by,
            run=run,
            subject=f"occurrence {occurrence.pk}",
            content={"after": occurrence.state, "review": review.pk},
        )


@attempts.noted("review.withdraw", "review {}")
def withdraw(review_id: int, *, by: Actor) -> None:
    """Take an approval back before its effect has started; twice is once.

    Refuses NotYours, and Stale once it has started or somebody else took it back.
    """
    assert by.user is not None
    run_id = models.Review.objects.values_list("run_id", flat=True).get(pk=review_id)
    with committing("withdraw"):
        run = inbox.lock(run_id)
        review = models.Review.objects.select_for_update(no_key=True, of=("self",)).get(pk=review_id)
        now = clock_time.now()
        if not answers.may_decide(review, by.user):
            raise NotYours("You may not take this approval back; a reviewer can.")
        left = models.Fact.objects.filter(run=run, kind=models.Fact.Kind.WITHDRAWN).select_related("by")
        first = next((fact.by for fact in left if fact.content["review"] == review.pk), None)
        if first == by.user:
            return
        if first is not None:
            raise Stale(f"{first.display()} took it back already; nothing was done.")
        started = review.kind != lifecycle.ReviewKind.ACTION or review.consumed_by_id is not None
        if review.status != lifecycle.Review.APPROVED or started:
            raise Stale("It's too late: this has already started.")
        review.status = log.moved(review.status, lifecycle.REVIEW_MOVES, lifecycle.Review.SUPERSEDED, by="P")
        review.closed_at = now
        review.save(update_fields=["status", "closed_at"])
        inbox.leave(run, models.Fact.Kind.WITHDRAWN, {"review": review.pk}, by=by.user, mover="P")
        content = {"revision": review.revision, "digest": review.digest,
                   "before": lifecycle.Review.APPROVED, "after": review.status}  # fmt: skip
        audit.append("review.withdrawn", actor=by, run=run, subject=f"review {review.pk}", content=content)
        hints.changed(run.pk, inbox=True)


@attempts.noted("review.extend", "review {}")
def extend(review_id: int, *, reason: str, by: Actor) -> models.Review:
    """Return the question with a new end, counted from now; nothing else about it changes.

    Refuses NotYours without the right to decide it, Invalid without a reason, and Stale once it is closed or where
    its kind never expires.
    """
    assert by.user is not None
    reason = texts.typed(reason, "reason")
    run_id = models.Review.objects.values_list("run_id", flat=True).get(pk=review_id)
    with committing("extend"):
        run = inbox.lock(run_id)
        review = locked([review_id])[review_id]
        now = clock_time.now()
        if not answers.may_decide(review, by.user):
            raise NotYours(f"You may not extend this; {' or '.join(review.groups)} can.")
        if not texts.says(reason):
            raise Invalid("Say why it needs more time.")
        if review.status != lifecycle.Review.OPEN or review.expires_at is None or review.expires_at <= now:
            raise Stale("This can't be extended any more.")
        before = review.expires_at
        span = (review.action.terms or {}).get("expires_seconds") if review.action is not None else None
        later = now + clock_time.seconds(span or settings.CKPTSITE["REVIEW_EXPIRES"])
        review.expires_at = max(before, later)
        review.save(update_fields=["expires_at"])
        content = {"before": before.isoformat(), "after": review.expires_at.isoformat(), "reason": reason}
        audit.append("review.extended", actor=by, run=run, subject=f"review {review.pk}", content=content)
        hints.changed(run.pk, inbox=True)
        return review


def repeated(review_id: int, answer: Answer, by: Actor) -> models.Decision | None:
    """Return what this form's token has recorded before; refuse (Stale) another question, verdict or person."""
    known = models.Decision.objects.filter(token=answer.token).select_related("review", "person").first()
    if known is None:
        return None
    if known.review_id == review_id and known.person == by.user and known.verdict == answer.verdict:
        return known
    raise Stale(answers.winner(known.review))


def _count(review: models.Review, answer: Answer, now: datetime.datetime) -> bool:
    """Count the answer on the locked review; return whether it closes the question."""
    if answer.verdict == APPROVE:
        review.votes += 1
        if review.votes < review.quorum:
            return False
        new: str = lifecycle.Review.APPROVED
    else:
        new = lifecycle.Review.REJECTED if answer.verdict == REJECT else lifecycle.Review.ANSWERED
    review.status = log.moved(review.status, lifecycle.REVIEW_MOVES, new, by="P")
    review.answer, review.closed_at = answer.verdict, now
    return True


def _tell(run: models.Run, review: models.Review, answer: Answer, by: Actor) -> None:
    """Leave the fact for the engine; the run is queued if it waits."""
    content = _facts(review, answer)
    if answer.verdict == RETRY:
        inbox.requeue(run)
        inbox.leave(run, models.Fact.Kind.RETRY, content, by=by.user, mover="P")
    elif answer.verdict != STOP:
        if answer.verdict in answers.CONTRADICTED:
            contradictions.look_again(review, answer)
        inbox.leave(run, models.Fact.Kind.DECISION, content, by=by.user, mover="P")


def _facts(review: models.Review, answer: Answer) -> Mapping[str, Any]:
    content: dict[str, Any] = {
        "review": review.pk,
        "kind": review.kind,
        "answer": answer.verdict,
        "reason": answer.reason,
        "revision": review.revision,
        "digest": review.digest,
    }
    if answer.receipt:
        content["receipt"] = answer.receipt
    if answer.amount is not None:
        content["amount"] = answer.amount
    if answer.which is not None:
        content["occurrence"] = answer.which
    if answer.value is not None:
        content["value"] = exact.parse(answer.value)
    found: Mapping[str, Any] = exact.stored(exact.canonical(content))
    return found


def content_of(
    *, receipt: str, amount: int | None, which: int | None = None, value: str | None = None
) -> dict[str, Any]:
    """Return what a decision keeps beside verdict and reason; `value` is the JSON text of an answer."""
    given = {"receipt": receipt or None, "amount": amount, "occurrence": which}
    kept = {name: one for name, one in given.items() if one is not None}
    return kept if value is None else {**kept, "value": exact.parse(value)}


def _stops(review: models.Review, answer: Answer) -> bool:
    ends = review.kind == lifecycle.ReviewKind.BUDGET or pins.asked(review)
    return answer.stop or (ends and answer.verdict == STOP)
