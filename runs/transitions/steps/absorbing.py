"""Absorbing: a call whose effect stands already, done by an earlier attempt, is closed with the old receipt."""

from __future__ import annotations

from typing import Any

from runs import lifecycle, models
from runs.transitions import changes, words
from runs.transitions.steps import closing, occurrences
from runs.transitions.steps._statement import Work


def absorbed_before(work: Work, action: models.Action, *, proposed: Any = None) -> bool:
    """Return whether just this stands already, done by an earlier attempt: then it is absorbed, and nobody is asked.

    It is looked for as soon as it is `proposed` with these arguments, which the log of this commit doesn't hold yet,
    and once more right before it is asked about or done.
    """
    if not work.run.path or _waits_for_undo(work, action):
        return False
    found = occurrences.find(work, action)
    if found.standing is None:
        return False
    text = _words(action, found.standing, proposed)
    absorb(work, action, found.standing, None, boundary=None, text=text)
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
    if (
        action.revision > 1 and standing.owner.preview
    ):  # its title tells of the arguments before a person's change
        asked = models.Review.objects.filter(action=action, kind=lifecycle.ReviewKind.ACTION)
        asked.filter(status=lifecycle.Review.SUPERSEDED).update(title=standing.owner.preview["summary"][:300])
    receipt = occurrences.receipt(standing)
    work.move(action, lifecycle.Action.ABSORBED, occurrence=standing)
    closing.close_effect(
        work, action, status=action.status, text=text or _words(action, standing), ran=False,
        value=receipt.get("value"), boundary=boundary,
    )  # fmt: skip


def _words(action: models.Action, standing: models.Occurrence, proposed: Any = None) -> str:
    """Return what the agent is told, with what a person made of its proposal where other arguments were done."""
    owner = standing.owner
    if owner.digest == action.digest or action.undo_of_id is not None:
        return words.absorbed()
    if models.Revision.objects.filter(action=owner, digest=action.digest).exists():
        return words.absorbed_as_changed(changes.told(owner))
    proposed = action.arguments() if proposed is None else proposed
    return words.absorbed_as_kept(changes.between(proposed, owner.arguments()))


def withdraw_question(work: Work, action: models.Action) -> None:
    """Close the open question whether this may be done: it is no longer one."""
    asked = models.Review.objects.filter(
        action=action, kind=lifecycle.ReviewKind.ACTION, status=lifecycle.Review.OPEN
    )
    if asked.update(status=lifecycle.Review.SUPERSEDED, closed_at=work.now):
        work.inbox_changed = True
