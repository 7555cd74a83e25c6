"""Trying other arguments before they are saved: a worker says what they would do, and nothing is decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import hints, models
from runs.transitions import answers, attempts, clock_time, edits, inbox
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import NotYours


@attempts.noted("review.rehearse", "review {}")
def ask(review_id: int, arguments: Any, *, by: Actor) -> models.Rehearsal:
    """Return the person's rehearsal of these arguments: the one that is there, or a new one that a worker is told of.

    Refuses NotYours without the right to decide, and Invalid and Stale as saving them would.
    """
    assert by.user is not None
    run_id = models.Review.objects.values_list("run_id", flat=True).get(pk=review_id)
    with committing("rehearse"):
        inbox.lock(run_id)
        review = (
            models.Review.objects.select_for_update(no_key=True, of=("self",))
            .select_related("action")
            .get(pk=review_id)
        )
        if not answers.may_decide(review, by.user):
            raise NotYours(f"You may not change this; {' or '.join(review.groups)} can.")
        action = edits.editable(review)
        settled = edits.settle(action, arguments)
        mine = models.Rehearsal.objects.filter(review=review, by=by.user)
        known = mine.filter(digest=settled.digest).first()
        if known is not None and known.done_at is not None:
            return known
        mine.delete()
        row = models.Rehearsal.objects.create(
            review=review, by=by.user, arguments=settled.arguments, digest=settled.digest, shown={}
        )
        hints.rehearse(row.pk)
        return row


def done(rehearsal_id: int, shown: Mapping[str, Any]) -> None:
    """Store what the worker found; one that was replaced meanwhile is forgotten."""
    with committing("rehearsed"):
        rows = models.Rehearsal.objects.filter(pk=rehearsal_id, done_at__isnull=True)
        run = rows.values_list("review__run", flat=True).first()
        if run is not None:
            rows.update(shown=dict(shown), done_at=clock_time.now())
            hints.changed(run)
