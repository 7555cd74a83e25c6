"""Deciding many questions in one go: each by the checks that it has alone, and what became of each is told."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.db import IntegrityError

from runs import hints, lifecycle, models
from runs.transitions import attempts, decisions, inbox, judging
from runs.transitions.actor import Actor
from runs.transitions.answers import APPROVE, REJECT, Answer
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, Refused, Stale

ALONE = 3
"""From this tier on each question is decided on a page of its own."""

MOST: Mapping[int, int] = {0: 20, 1: 20, 2: 5}
"""So many may be approved at once where this is the worst tier among them."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one item: the recorded decision, or why there is none."""

    review_id: int
    decision: models.Decision | None = None
    refusal: Refused | None = None


class _OneRefused(Exception):
    """One item of a batch that is decided whole or not at all was refused."""

    def __init__(self, review_id: int, refusal: Refused) -> None:
        super().__init__(refusal.message)
        self.review_id, self.refusal = review_id, refusal


@attempts.noted("review.decide", "several reviews")
def decide_many(answers: Mapping[int, Answer], *, by: Actor, whole: bool = False) -> list[Outcome]:
    """Return what became of each answer, by the number of its review; one transaction for each run.

    One refusal, be it for the right, the revision that was seen or a winner, leaves the others decided. With `whole`
    it leaves none; only calls of one reply may be decided so. Refuses Invalid what is no batch.
    """
    judging.runs_of(answers)
    asked = {
        row.pk: row
        for row in models.Review.objects.filter(pk__in=answers).select_related("action").order_by("pk")
    }
    checked = {pk: decisions.checked(answers[pk]) for pk in asked}
    _check_size(asked, checked)
    replies = {(row.run_id, row.action.reply_position if row.action else -row.pk) for row in asked.values()}
    if whole and len(replies) > 1:
        raise Invalid("Only what was proposed together can be decided all or nothing.")
    found: dict[int, Outcome] = {}
    for run_id in sorted({row.run_id for row in asked.values()}):
        of_run = {pk: answer for pk, answer in checked.items() if asked[pk].run_id == run_id}
        found |= _of_run(run_id, of_run, by=by, whole=whole)
    for pk, outcome in found.items():
        if outcome.refusal is not None:
            attempts.of_refused(outcome.refusal, act="review.decide", subject=f"review {pk}", by=by)
    return [found[pk] for pk in sorted(found)]


def _check_size(asked: Mapping[int, models.Review], answers: Mapping[int, Answer]) -> None:
    """Refuse (Invalid) to approve more at once than the worst tier allows."""
    tiers = [row.tier for pk, row in asked.items() if answers[pk].verdict == APPROVE and row.tier < ALONE]
    most = MOST[max(tiers)] if tiers else 0
    if len(tiers) > most:
        raise Invalid(f"At most {most} of these can be approved at once.")


def _of_run(run_id: int, answers: Mapping[int, Answer], *, by: Actor, whole: bool) -> dict[int, Outcome]:
    found: dict[int, Outcome] = {}
    try:
        with committing("decide"):
            run = inbox.lock(run_id)
            rows = decisions.locked(answers)
            new: list[models.Decision] = []
            for pk, row in rows.items():
                try:
                    known = decisions.repeated(pk, answers[pk], by)
                    given = known or _one(run, row, answers[pk], by)
                    found[pk] = Outcome(review_id=pk, decision=given)
                    new += [] if known else [given]
                except Refused as refusal:
                    if whole:
                        raise _OneRefused(pk, refusal) from refusal
                    found[pk] = Outcome(review_id=pk, refusal=refusal)
            for given in new:  # last, since the audit chain's head is everybody's
                decisions.tell_auditors(run, given, answers[given.review_id], by=by)
            hints.changed(run.pk, inbox=True)
    except IntegrityError:  # the same token for two questions at once: one of them has it
        return {pk: Outcome(review_id=pk, refusal=Stale(decisions.USED)) for pk in answers}
    except _OneRefused as one:
        rest = "Nothing was decided, because one of these could not be."
        return {
            pk: Outcome(review_id=pk, refusal=one.refusal if pk == one.review_id else Stale(rest))
            for pk in answers
        }
    return found


def _one(run: models.Run, review: models.Review, answer: Answer, by: Actor) -> models.Decision:
    """Return the decision on one of many; refuse what has to be decided alone, and whatever is refused there."""
    if review.kind != lifecycle.ReviewKind.ACTION or answer.verdict not in {APPROVE, REJECT} or answer.stop:
        raise Invalid("This has to be decided by itself.")
    if review.tier >= ALONE:
        raise Invalid("What can't be undone is decided by itself.")
    return decisions.record(run, review, answer, by=by)
