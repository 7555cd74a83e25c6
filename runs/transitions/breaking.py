"""Break-glass: an administrator releases alone what needs somebody who can't be reached. Off by default, and loud."""

from __future__ import annotations

from dataclasses import replace

from django.conf import settings

from runs import hints, lifecycle, models, rights
from runs.transitions import answers, attempts, audit, clock_time, decisions, inbox, judging, proofs, texts
from runs.transitions.actor import Actor
from runs.transitions.answers import APPROVE, Answer
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours

WORDS = 20
"""So many characters a reason has at least."""


@attempts.noted("review.break_glass", "review {}")
def release(review_id: int, answer: Answer, *, by: Actor) -> models.Decision:
    """Return the approval that releases it, whatever quorum and separation say; the rest of the gate stays.

    The same form again returns what it recorded. Refuses NotYours where it is switched off, without the right, or
    through a token, Invalid without a reason of its own, without the retyped value and where nobody else is needed,
    Unproven at every tier, and Stale like any answer.
    """
    answer = replace(decisions.checked(answer), verdict=APPROVE)
    if (known := decisions.repeated(review_id, answer, by)) is not None:
        return known
    run_id = judging.run_of(review_id)
    with committing("break_glass"):
        run = inbox.lock(run_id)
        review = decisions.locked([review_id])[review_id]
        user, now = by.user, clock_time.now()
        if user is None or by.token is not None or not rights.may(user.roles(), rights.Act.BREAK_GLASS):
            raise NotYours("Only an administrator who is signed in may break the glass.")
        if not settings.CKPTSITE["BREAK_GLASS"]:
            raise NotYours("Break-glass is switched off here (CKPTSITE_BREAK_GLASS).")
        if review.kind != lifecycle.ReviewKind.ACTION or not (review.quorum > 1 or review.separation):
            raise Invalid("Nobody else is needed for this; decide it on its page.")
        answers.check_fresh(review, answer, now)
        if len(answer.reason) < WORDS or not texts.says(answer.reason):
            raise Invalid(
                f"Say why nobody else can release it, in {WORDS} characters at least; everybody reads it."
            )
        if answer.retype != retyped(review):
            raise Invalid("Retype the value exactly as it is shown: what you typed differs.")
        answers.check_fit(review, run, replace(answer, retype=_wanted(review)), now, by=by)
        before = {"quorum": review.quorum, "votes": review.votes, "separation": review.separation}
        if review.decisions.filter(revision=review.revision, person=user).exists():
            raise Invalid(
                "You have approved it already; somebody else's approval, or break-glass, releases it."
            )
        proofs.check(by, now)
        review.quorum, review.alone_by = review.votes + 1, user
        decision = decisions.entered(run, review, answer, principal=None, now=now, by=by)
        decisions.tell_auditors(run, decision, answer, by=by)
        content = {**before, "reason": answer.reason, "revision": review.revision, "digest": review.digest}
        audit.append("review.broke_glass", actor=by, run=run, subject=f"review {review.pk}", content=content)
        hints.changed(run.pk, inbox=True)
        return decision


def retyped(review: models.Review) -> str:
    """Return what has to be typed again: the decisive value, or else the name of the tool."""
    return _wanted(review) or (review.action.tool if review.action is not None else "")


def _wanted(review: models.Review) -> str:
    return str(((review.content or {}).get("retype") or {}).get("value", "")).strip()
