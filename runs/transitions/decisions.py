"""People's decisions on reviews: one winner each, bound to what was seen."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db import IntegrityError

from runs import exact, hints, lifecycle, models, rights
from runs.transitions import audit, budgets, clock_time, holds, inbox, log, pins, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

APPROVE, REJECT = "approve", "reject"
HAPPENED, ABSENT_DO, ABSENT_LEAVE, UNKNOWN = "happened", "absent_do", "absent_leave", "unknown"
RETRY, STOP, GO_ON = "retry", "stop", "go_on"
ANSWERS: dict[str, tuple[str, ...]] = {
    lifecycle.ReviewKind.ACTION: (APPROVE, REJECT),
    lifecycle.ReviewKind.PLAN: (APPROVE, REJECT),
    lifecycle.ReviewKind.IN_DOUBT: (HAPPENED, ABSENT_DO, ABSENT_LEAVE, UNKNOWN),
    lifecycle.ReviewKind.FAILURE: (RETRY, STOP, GO_ON),
    lifecycle.ReviewKind.BUDGET: (budgets.RAISE, STOP),
}


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What a person answered, and exactly what they saw when they did. `token` is the form's, single use."""

    verdict: str
    revision: int
    digest: str
    token: str
    reason: str = ""
    retype: str = ""
    receipt: str = ""
    amount: int | None = None  # by how much a limit is raised
    evidence_number: int = 0
    rendered_at: datetime.datetime | None = None
    stop: bool = False  # with a rejection: end the run too


def decide(review_id: int, answer: Answer, *, by: Actor) -> models.Decision:
    """Return the recorded decision; the same token again returns what it recorded.

    Refuses NotYours without the right, Invalid where the answer doesn't fit the question, and Stale when the review
    is closed, expired, at another revision, or evidence has arrived that wasn't seen.
    """
    assert by.user is not None
    answer = replace(
        answer,
        token=texts.token(answer.token),
        reason=texts.typed(answer.reason, "reason"),
        receipt=texts.typed(answer.receipt, "evidence"),
        retype=texts.typed(answer.retype, "retyped value"),
    )
    repeated = models.Decision.objects.filter(token=answer.token).select_related("review").first()
    if repeated is not None:
        return _same(repeated, review_id, answer, by)
    try:
        return _record(review_id, answer, by=by, user=by.user)
    except IntegrityError as error:
        # The same token for two questions at once: one of them has it.
        raise Stale("This form was used already; load the page again.") from error


def _record(review_id: int, answer: Answer, *, by: Actor, user: models.User) -> models.Decision:
    run_id = models.Review.objects.values_list("run_id", flat=True).get(pk=review_id)
    with committing("decide"):
        run = inbox.lock(run_id)
        review = (
            models.Review.objects.select_for_update(of=("self",)).select_related("action").get(pk=review_id)
        )
        now = clock_time.now()
        _check_right(review, run, answer, user)
        if answer.stop or (answer.verdict == STOP and pins.asked(review)):
            holds.may_stop(by)
        _check_fresh(review, answer, now)
        _check_fit(review, run, answer, now)
        decision = models.Decision.objects.create(
            review=review,
            revision=review.revision,
            person=user,
            verdict=answer.verdict,
            reason=answer.reason,
            content=content_of(receipt=answer.receipt, amount=answer.amount),
            digest=review.digest,
            token=answer.token,
            channel=by.channel,
            ip=by.ip,
        )
        closed = _count(review, answer, now)
        review.save(update_fields=["status", "votes", "answer", "closed_at"])
        if closed:
            _tell(run, review, answer, by)
        if answer.verdict == budgets.RAISE and answer.amount is not None:
            budgets.raise_limit(run, review, answer.amount, by=by)
        audit.append(
            f"review.{answer.verdict}",
            actor=by,
            run=run,
            subject=f"review {review.pk}",
            content=_facts(review, answer),
        )
        if _stops(review, answer) and run.stop_at is None and run.status not in lifecycle.RUN_ENDED:
            holds.ask_stop(run, reason=answer.reason, by=by)
        hints.changed(run.pk, inbox=True)
    return decision


def withdraw(review_id: int, *, by: Actor) -> None:
    """Take an approval back before its effect has started. Refuses NotYours, and Stale once it has."""
    assert by.user is not None
    run_id = models.Review.objects.values_list("run_id", flat=True).get(pk=review_id)
    with committing("withdraw"):
        run = inbox.lock(run_id)
        review = models.Review.objects.select_for_update(of=("self",)).get(pk=review_id)
        now = clock_time.now()
        if not rights.may_decide(by.user.roles(), review.groups):
            raise NotYours("You may not take this approval back; a reviewer can.")
        started = review.kind != lifecycle.ReviewKind.ACTION or review.consumed_by_id is not None
        if review.status != lifecycle.Review.APPROVED or started:
            raise Stale("It's too late: this has already started.")
        review.status = log.moved(review.status, lifecycle.REVIEW_MOVES, lifecycle.Review.SUPERSEDED, by="P")
        review.closed_at = now
        review.save(update_fields=["status", "closed_at"])
        inbox.leave(run, models.Fact.Kind.WITHDRAWN, {"review": review.pk}, by=by.user, mover="P")
        audit.append("review.withdrawn", actor=by, run=run, subject=f"review {review.pk}")
        hints.changed(run.pk, inbox=True)


def _same(decision: models.Decision, review_id: int, answer: Answer, by: Actor) -> models.Decision:
    if decision.review_id == review_id and decision.person == by.user and decision.verdict == answer.verdict:
        return decision
    raise Stale(winner(decision.review))


def _check_right(review: models.Review, run: models.Run, answer: Answer, user: models.User) -> None:
    roles = user.roles()
    if review.kind == lifecycle.ReviewKind.FAILURE:
        if not rights.may(roles, rights.Act.ANSWER_FAILURE):
            raise NotYours("You may not answer this; an operator can.")
        return
    if review.kind == lifecycle.ReviewKind.BUDGET:
        budgets.check_right(user)
        return
    if not rights.may_decide(roles, review.groups):
        raise NotYours(f"You may not decide this; {' or '.join(review.groups)} can.")
    if (
        review.votes
        and review.status == lifecycle.Review.OPEN
        and review.decisions.filter(revision=review.revision, person=user).exists()
    ):
        raise NotYours("You have decided. It needs somebody else's decision too.")
    if (
        review.separation
        and answer.verdict == APPROVE
        and run.created_by_id == user.pk
        and others_may(user, review.groups)
    ):
        raise NotYours("You started this run, so somebody else has to release this action.")


def others_may(user: models.User, groups: list[str]) -> bool:
    """Return whether anybody else could decide: without a second person, separation can't be kept and is off."""
    others = models.User.objects.filter(is_active=True, groups__name__in=[*groups, rights.ADMIN]).exclude(
        pk=user.pk
    )
    return others.exists()


def _check_fresh(review: models.Review, answer: Answer, now: datetime.datetime) -> None:
    if review.status != lifecycle.Review.OPEN:
        raise Stale(winner(review))
    if review.expires_at is not None and review.expires_at <= now:
        raise Stale("This question has expired; nothing was decided.")
    if review.revision != answer.revision or review.digest != answer.digest:
        raise Stale("This has changed since you opened it; look at it again before you decide.")
    # A question in doubt may stay open when evidence about one of several attempts arrives; its action counts it.
    doubted = review.action if review.kind == lifecycle.ReviewKind.IN_DOUBT else None
    known = doubted.evidence_number if doubted is not None else review.evidence_number
    if known != answer.evidence_number:
        raise Stale("New evidence has arrived since you opened this; look at it again before you decide.")


def _check_fit(review: models.Review, run: models.Run, answer: Answer, now: datetime.datetime) -> None:
    if answer.verdict not in ANSWERS.get(review.kind, ()):
        raise Invalid(f"{answer.verdict!r} is no answer to this question.")
    if review.kind == lifecycle.ReviewKind.BUDGET:
        budgets.check_fit(run, verdict=answer.verdict, amount=answer.amount, reason=answer.reason)
    if review.kind == lifecycle.ReviewKind.FAILURE:
        fits = (GO_ON, STOP) if pins.asked(review) else (RETRY, STOP)
        if answer.verdict not in fits:
            raise Invalid(f"{answer.verdict!r} is no answer to this question.")
    if answer.stop and answer.verdict != REJECT:
        raise Invalid("Only a rejection can stop the run too.")
    if answer.verdict == REJECT and not texts.says(answer.reason):
        raise Invalid("Say why you reject it; the agent and the auditors read the reason.")
    if review.reason_required and not texts.says(answer.reason):
        raise Invalid("Give a reason; at this tier every decision needs one.")
    wanted = (review.content or {}).get("retype")
    if answer.verdict == APPROVE and wanted and answer.retype != str(wanted["value"]).strip():
        raise Invalid(f"Retype the {wanted['field']} exactly as it is shown: what you typed differs.")
    start = now + clock_time.seconds(review.undo_seconds)
    if answer.verdict == APPROVE and review.expires_at is not None and start >= review.expires_at:
        raise Stale("This expires before it could start; extend it first.")
    if answer.verdict == HAPPENED and not answer.receipt:
        raise Invalid("Say how you know that it happened: a reference, a message id, what you saw.")
    if answer.verdict in {ABSENT_DO, ABSENT_LEAVE}:
        _check_horizon(review, answer)
    if answer.verdict == ABSENT_DO and run.stop_at is not None:
        raise Invalid("The run is being stopped, so it can't be done again; choose 'leave it'.")
    if answer.verdict == RETRY and (run.superseded_by_id is not None or run.status != lifecycle.Run.FAILED):
        raise Stale("This run can't be retried any more.")


def _check_horizon(review: models.Review, answer: Answer) -> None:
    """'It did not happen' counts only from a look after the horizon: before it the request may still arrive."""
    occurrence = review.action.occurrence if review.action else None
    if occurrence is None or answer.rendered_at is None or answer.rendered_at < occurrence.horizon:
        raise Invalid(
            "The request may still arrive, so nobody can say yet that it did not happen; look again later."
        )


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
        _requeue(run)
        inbox.leave(run, models.Fact.Kind.RETRY, content, by=by.user, mover="P")
    elif answer.verdict != STOP:
        inbox.leave(run, models.Fact.Kind.DECISION, content, by=by.user, mover="P")


def _requeue(run: models.Run) -> None:
    run.status = log.moved(run.status, lifecycle.RUN_MOVES, lifecycle.Run.QUEUED, by="P")
    run.reason, run.wake_at, run.ended_at = "retry", clock_time.now(), None
    run.attempts, run.error = 0, ""
    run.save(update_fields=["status", "reason", "wake_at", "ended_at", "attempts", "error"])


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
    return exact.stored(exact.canonical(content)) if content else content


def content_of(*, receipt: str, amount: int | None) -> dict[str, Any]:
    """Return what a decision keeps beside verdict and reason."""
    given = {"receipt": receipt or None, "amount": amount}
    return {name: value for name, value in given.items() if value is not None}


def _stops(review: models.Review, answer: Answer) -> bool:
    ends = review.kind == lifecycle.ReviewKind.BUDGET or pins.asked(review)
    return answer.stop or (ends and answer.verdict == STOP)


def winner(review: models.Review) -> str:
    """Return one sentence that says who decided what, for the one who came second."""
    last = review.decisions.select_related("person").order_by("-id").first()
    if last is None or review.status in {
        lifecycle.Review.SETTLED,
        lifecycle.Review.SUPERSEDED,
        lifecycle.Review.EXPIRED,
    }:
        return f"This question is closed ({review.status}); nothing you typed was used."
    verdict = {APPROVE: "approved", REJECT: "rejected"}.get(last.verdict, "answered")
    return f"{last.person.display()} {verdict} this first; nothing you typed was used."
