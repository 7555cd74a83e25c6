"""A question that an agent asks a person: put before them once, and closed with their answer as the call's result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.conf import settings

from runs import exact, lifecycle, models
from runs.state import CallId
from runs.transitions import answers, clock_time, indexing, ladders, log, texts, words
from runs.transitions.refusals import Changed
from runs.transitions.steps import closing, crowding
from runs.transitions.steps._statement import Claim, Work, fenced

if TYPE_CHECKING:
    from runs.transitions.steps.reply import Verdict

KIND = lifecycle.ReviewKind.QUESTION


def ask_human(
    claim: Claim,
    call: CallId,
    *,
    step: str | None,
    question: str,
    schema: Mapping[str, Any],
    verdict: Verdict,
    seen: int,
) -> None:
    """Open the review of a question, or close its call where policy lets no agent ask. Refuses Changed."""
    with fenced(claim, "ask_human", seen=seen) as work:
        if verdict.verdict == "deny":
            text = words.denied(verdict.rule)
            closing.close(work, call, step=step, status=lifecycle.Action.DENIED, text=text, ran=False)
            return
        if not crowding.left(work.run):
            raise Changed(f"run {claim.run_id} may open no more questions now")
        terms = verdict.terms
        expires = terms.get("expires_seconds") or settings.CKPTSITE["REVIEW_EXPIRES"]
        due = min(terms.get("due_seconds") or settings.CKPTSITE["REVIEW_DUE"], expires)
        review = models.Review(
            run=work.run,
            kind=KIND,
            status=lifecycle.Review.OPEN,
            digest=exact.link(work.run.pk, *call, question, exact.digest_of(schema)),
            title=texts.storable(" ".join(question.split()), limit=300),
            content={"question": question, "schema": schema, "call": list(call), "step": step},
            groups=list(terms.get("groups", ["reviewer"])),
            due_at=work.now + clock_time.seconds(due),
            expires_at=work.now + clock_time.seconds(expires),
        )
        ladders.set_up(review, terms, now=work.now)
        review.save()
        indexing.review(review)
        work.log.append(
            lifecycle.EntryKind.VERDICT,
            {"call": list(call), "verdict": "question", "review": review.pk, "digest": review.digest,
             "status": lifecycle.Action.HELD},
            boundary=lifecycle.Boundary.WAITING,
        )  # fmt: skip
        work.inbox_changed = True


def answered(work: Work, fact: models.Fact, review: models.Review, *, who: str) -> bool:
    """Close the call with what the person answered; return whether it was still open."""
    call = _call(review)
    if _closed(work, call):
        return False
    given = fact.content["answer"] == answers.ANSWER
    status = lifecycle.Action.SUCCEEDED if given else lifecycle.Action.REJECTED
    work.log.append(
        lifecycle.EntryKind.DECISION, {**fact.content, "by": who, "call": list(call), "status": status}
    )
    step = review.content["step"]
    if given:
        text = words.answered(who, fact.content["reason"])
        closing.close(work, call, step=step, status=status, text=text, ran=False, value=fact.content["value"])
    else:
        text = words.cannot_answer(who, fact.content["reason"])
        closing.close(work, call, step=step, status=status, text=text, ran=False)
    return True


def expired(work: Work, review: models.Review) -> bool:
    """Close the call in words: nobody answered in time. Return whether it was still open."""
    call = _call(review)
    if _closed(work, call):
        return False
    closing.close(
        work, call, step=review.content["step"], status=lifecycle.Action.EXPIRED, text=words.unanswered(), ran=False
    )  # fmt: skip
    return True


def overtaken(work: Work, call: CallId) -> bool:
    """Let nobody be asked any more what this call asked; return whether it was closed before."""
    asked = models.Review.objects.select_for_update(no_key=True, of=("self",)).filter(run=work.run, kind=KIND)
    for review in asked.filter(status=lifecycle.Review.OPEN).order_by("pk"):
        if _call(review) == call:
            review.status = log.moved(
                review.status, lifecycle.REVIEW_MOVES, lifecycle.Review.SUPERSEDED, by="E"
            )
            review.closed_at = work.now
            review.save(update_fields=["status", "closed_at"])
            work.inbox_changed = True
    return _closed(work, call)


def _call(review: models.Review) -> CallId:
    position, index = review.content["call"]
    return position, index


def _closed(work: Work, call: CallId) -> bool:
    """Return whether the log has a result of this call already."""
    work.log.flush()
    lines = models.Entry.objects.filter(run=work.run, kind=lifecycle.EntryKind.RESULT, position__gt=call[0])
    return any(line.content["call"] == list(call) for line in lines)
