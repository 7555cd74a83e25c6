"""Absorbing: a call whose effect stands already, done by an earlier attempt, is closed with the old receipt."""

from __future__ import annotations

from runs import lifecycle, models
from runs.transitions import words
from runs.transitions.steps import closing, occurrences
from runs.transitions.steps._statement import Work


def absorbed_before(work: Work, action: models.Action) -> bool:
    """Return whether just this stands already, done by an earlier attempt: then it is absorbed, and nobody is asked.

    It is looked for as soon as it is proposed, and once more right before it is asked about or done.
    """
    if not work.run.path or _waits_for_undo(work, action):
        return False
    found = occurrences.find(work, action)
    undo = action.undo_of_id is not None
    if found.standing is None or (found.standing.owner.digest != action.digest and not undo):
        return False
    absorb(work, action, found.standing, None, boundary=None)
    work.closed_effect = True
    return True


def _waits_for_undo(work: Work, action: models.Action) -> bool:
    """Return whether an undo goes before this action: what stands now may be just what is taken back."""
    if action.undo_of_id is not None:
        return False
    undos = models.Action.objects.filter(run=work.run, status__in=lifecycle.ACTION_OPEN)
    return undos.filter(undo_of__isnull=False).exists()


def absorb(
    work: Work,
    action: models.Action,
    standing: models.Occurrence,
    review: models.Review | None,
    *,
    boundary: str | None = lifecycle.Boundary.RESULT,
    text: str = "",
) -> None:
    """The effect stands off this path: the old receipt is this call's result, and an unused approval is void.

    So is a question that is still open: a person's edit may have made of the call just what stands.
    """
    if review is not None:
        review.status, review.closed_at = lifecycle.Review.SUPERSEDED, work.now
        review.save(update_fields=["status", "closed_at"])
        work.inbox_changed = True
    withdraw_question(work, action)
    receipt = occurrences.receipt(standing)
    work.move(action, lifecycle.Action.ABSORBED, occurrence=standing)
    closing.close_effect(
        work, action, status=action.status, text=text or words.absorbed(), ran=False, value=receipt.get("value"),
        boundary=boundary,
    )  # fmt: skip


def withdraw_question(work: Work, action: models.Action) -> None:
    """Close the open question whether this may be done: it is no longer one."""
    asked = models.Review.objects.filter(
        action=action, kind=lifecycle.ReviewKind.ACTION, status=lifecycle.Review.OPEN
    )
    if asked.update(status=lifecycle.Review.SUPERSEDED, closed_at=work.now):
        work.inbox_changed = True
