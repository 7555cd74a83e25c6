"""The question what becomes of a run that has failed."""

from __future__ import annotations

from runs import exact, lifecycle, models
from runs.models import columns, reversals
from runs.transitions import clock_time, log

_OPEN = "run_id = $1 AND status = 'open' AND kind = 'failure' ORDER BY id FOR NO KEY UPDATE"


def why_not(review: models.Review) -> str:
    """Return why a failed run can't be tried again where it stands; empty where nothing of it was taken back."""
    if reversals.TAKEN_BACK not in (review.content or {}):
        return ""
    return "What the run had done was taken back, so go on from a checkpoint before that."


def close(run: models.Run) -> bool:
    """Return whether the question that the failure of the locked run asks was open; it is asked no more."""
    open_reviews, now = columns.together(
        columns.asked(models.Review, _OPEN, [columns.number(run.pk)]), clock_time.ASKED
    )
    closed = False
    for review in open_reviews:
        asked = review.content
        if review.digest != exact.link(run.pk, asked["checkpoint"], asked["cause"]):
            continue  # it asks about the world, not about what becomes of this attempt
        review.status = log.moved(review.status, lifecycle.REVIEW_MOVES, lifecycle.Review.SUPERSEDED, by="P")
        review.closed_at = now
        review.save(update_fields=["status", "closed_at"])
        closed = True
    return closed
