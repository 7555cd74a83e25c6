"""What can be undone, and what an undo means for the effect that it undoes: the two occurrences move together."""

from __future__ import annotations

from runs import lifecycle, models
from runs.models import reversals
from runs.tools import registry
from runs.transitions.refusals import Invalid, Stale

State = lifecycle.Occurrence

_AFTER = {
    State.STANDING: State.UNDONE,
    State.UNKNOWN: State.UNKNOWN,
}
"""What becomes of the effect when its undo stands, or is in doubt."""


def follow(undo: models.Occurrence, *, by: str) -> None:
    """Move the effect that `undo` takes back, if it is an undo: undone, unknown, or standing as before."""
    owner = undo.owner
    if owner.undo_of_id is None or undo.state == State.OPEN:
        return
    row = models.Occurrence.objects.select_for_update(no_key=True, of=("self",)).get(pk=owner.undo_of_id)
    new = _AFTER.get(State(undo.state), State.STANDING)
    if row.state == new or (new == State.STANDING and row.state != State.UNKNOWN):
        return
    lifecycle.check(lifecycle.OCCURRENCE_MOVES, row.state, new, by=by)
    row.state = new
    row.save(update_fields=["state"])


def check(row: models.Occurrence) -> models.Run | None:
    """Refuse (Invalid or Stale) what can't be taken back; return the run that does so already, if there is one."""
    if row.owner.undo_of_id is not None:
        raise Invalid("This takes something back itself; it can't be taken back in turn.")
    if registry.undo_of(row.tool) is None:
        raise Invalid(f"Nothing takes back what {row.tool!r} did.")
    if row.first_sent_at is None:
        raise Invalid("This was done by hand, so it has to be taken back by hand.")
    if row.state == State.UNDONE:
        raise Stale("This has been taken back already.")
    if row.state == State.VOID:
        raise Invalid("This did not happen, so there is nothing to take back.")
    if row.state != State.STANDING and (row.state == State.OPEN or reversals.given_up(row) is None):
        raise Stale("It isn't known yet whether this stands; that has to be settled first.")
    number = reversals.pending(row.root_id, [row]).get(row.pk)
    return None if number is None else models.Run.objects.get(pk=number)


def moot(action: models.Action) -> str:
    """Return why an undo can't start now, or nothing: what it takes back has to stand."""
    if action.undo_of_id is None:
        return ""
    row = models.Occurrence.objects.select_for_update(no_key=True, of=("self",)).get(pk=action.undo_of_id)
    if row.state == State.STANDING:
        return ""
    if row.state == State.VOID:
        return "what it takes back did not happen"
    return "it isn't known any more whether what it takes back stands"


def in_question(row: models.Occurrence) -> models.Action | None:
    """Return the action that was given up, so that nobody knows whether this stands: its own, or an undo of it."""
    return row.owner if row.owner.status == lifecycle.Action.ABANDONED else reversals.given_up(row)
