"""An effect that may or may not have happened holds up the same again: it stays as it is until that is known."""

from __future__ import annotations

from runs import lifecycle, models
from runs.transitions import undoing
from runs.transitions.steps import occurrences, settle
from runs.transitions.steps._statement import Work


def holds_up(work: Work, action: models.Action, found: occurrences.Found) -> bool:
    """Return whether the action waits for an equal one; nobody is asked about it, but about one that was given up."""
    if found.blocking is None:
        over(work, action)
        return False
    action.blocked_by = found.blocking
    action.save(update_fields=["blocked_by"])
    earlier = undoing.in_question(found.blocking)
    if earlier is not None:
        settle.ask_about_earlier(work, earlier)
    return True


def hold(work: Work, action: models.Action, found: occurrences.Found) -> bool:
    """Return whether the action, which isn't asked about yet, is held without a question until the other settles."""
    asked = models.Review.objects.filter(
        action=action, kind=lifecycle.ReviewKind.ACTION, status=lifecycle.Review.OPEN
    )
    if (
        found.blocking is not None and asked.exists()
    ):  # it was put before people first: it waits once it is released
        return False
    if not holds_up(work, action, found):
        return False
    if action.status == lifecycle.Action.PROPOSED:
        call = [action.reply_position, action.call_index]
        content = {"call": call, "verdict": "blocked", "status": lifecycle.Action.HELD}
        work.log.append(lifecycle.EntryKind.DECISION, content)
        work.move(action, lifecycle.Action.HELD)
    return True


def over(work: Work, action: models.Action) -> None:
    """Once it is known what came of the other, perhaps by evidence, the question about it in this run is settled."""
    if action.blocked_by_id is None:
        return
    earlier = models.Occurrence.objects.select_for_update(no_key=True, of=("self",)).select_related("owner")
    other = earlier.get(pk=action.blocked_by_id)
    if other.state in {lifecycle.Occurrence.OPEN, lifecycle.Occurrence.UNKNOWN}:
        return
    settle.close_question(work, undoing.in_question(other) or other.owner)
    action.blocked_by = None
    action.save(update_fields=["blocked_by"])
