"""What an undo means for the effect that it undoes: the two occurrences move together."""

from __future__ import annotations

from runs import lifecycle, models

_AFTER = {
    lifecycle.Occurrence.STANDING: lifecycle.Occurrence.UNDONE,
    lifecycle.Occurrence.UNKNOWN: lifecycle.Occurrence.UNKNOWN,
}
"""What becomes of the effect when its undo stands, or is in doubt."""


def follow(undo: models.Occurrence, *, by: str) -> None:
    """Move the effect that `undo` takes back, if it is an undo: undone, unknown, or standing as before."""
    owner = undo.owner
    if owner.undo_of_id is None or undo.state == lifecycle.Occurrence.OPEN:
        return
    row = models.Occurrence.objects.select_for_update(of=("self",)).get(pk=owner.undo_of_id)
    new = _AFTER.get(lifecycle.Occurrence(undo.state), lifecycle.Occurrence.STANDING)
    if row.state == new or (
        new == lifecycle.Occurrence.STANDING and row.state != lifecycle.Occurrence.UNKNOWN
    ):
        return
    lifecycle.check(lifecycle.OCCURRENCE_MOVES, row.state, new, by=by)
    row.state = new
    row.save(update_fields=["state"])
