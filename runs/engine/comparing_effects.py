"""Comparing each effect in the world to what its lineage's logs, its evidence and the audit chain say of it."""

from __future__ import annotations

from runs import exact, lifecycle, models
from runs.engine.comparing import Broken
from runs.transitions.steps.occurrences import key_of

_AGREES: dict[str, frozenset[str]] = {
    lifecycle.Action.SUCCEEDED: frozenset({lifecycle.Occurrence.STANDING}),
    lifecycle.Action.ABSORBED: frozenset({lifecycle.Occurrence.STANDING}),
    lifecycle.Action.INTENT: frozenset({lifecycle.Occurrence.OPEN}),
    lifecycle.Action.IN_DOUBT: frozenset({lifecycle.Occurrence.UNKNOWN}),
}
_LATER = {
    "happened": lifecycle.Occurrence.STANDING,
    "absent_do": lifecycle.Occurrence.VOID,
    "absent_leave": lifecycle.Occurrence.VOID,
}
_LEARNT = ("occurrence.contradicted", "occurrence.settled", "occurrence.answered")
_SETTLED = (lifecycle.Occurrence.STANDING, lifecycle.Occurrence.VOID, lifecycle.Occurrence.UNKNOWN)
_RECEIVED = (lifecycle.Action.SUCCEEDED, lifecycle.Action.ABSORBED)


def occurrence(row: models.Occurrence) -> None:
    """Compare an occurrence to its key, its sends, and the action that owns it; refuse Broken."""
    what = f"occurrence {row.pk}"
    keys = [
        key_of(row.root_id, row.tool, row.identity, row.n, epoch=epoch)
        for epoch in range(len(row.all_keys()))
    ]
    if (keys, exact.digest_of(row.identity)) != (row.all_keys(), row.identity_digest):
        raise Broken(f"{what}: its key doesn't belong to its identity")
    owner = models.Action.objects.filter(pk=row.owner_id).first()
    newest = row.verifications.filter(done_at__isnull=False).order_by("done_at", "pk").last()
    if row.verification != (newest.outcome if newest else ""):
        raise Broken(f"{what}: it was read back otherwise")
    if owner is None:
        raise Broken(f"{what}: the action that was sent first is gone")
    if owner.occurrence_id != row.pk or owner.declaration != row.declaration:
        raise Broken(f"{what}: its action {owner.pk} doesn't know it")
    events = list(models.AuditEvent.objects.filter(act__in=_LEARNT, subject=what).order_by("seq"))
    if row.contradicted != any(event.act == "occurrence.contradicted" for event in events):
        raise Broken(f"{what}: the audit chain says otherwise about contrary evidence")
    if (
        len(row.all_keys()) - 1
        != models.AuditEvent.objects.filter(act="occurrence.new_key", subject=what).count()
    ):
        raise Broken(f"{what}: the audit chain says otherwise about its keys")
    # What was learnt when its action was settled has left that action behind.
    learnt = [event.content["after"] for event in events if event.content["after"] in _SETTLED]
    wanted = _undone(row) or (frozenset({learnt[-1]}) if learnt else _states(owner))
    if not learnt and owner.status in _RECEIVED and not _same_receipt(row, owner):
        raise Broken(f"{what}: its receipt is not that of its action {owner.pk}")
    if owner.status not in _RECEIVED and row.receipt_position is not None:
        raise Broken(f"{what}: its action {owner.pk} has no receipt")
    if row.receipt is not None and row.receipt not in _learnt_outside(owner):
        raise Broken(f"{what}: nobody has told of its receipt")
    if row.state not in wanted:
        raise Broken(f"{what}: it is {row.state}, but its action {owner.pk} is {owner.status}")


def _same_receipt(row: models.Occurrence, owner: models.Action) -> bool:
    return (row.receipt_position, row.receipt) == (owner.receipt_position, None)


def _learnt_outside(owner: models.Action) -> list[object]:
    """Return the receipts that came in otherwise than with the action's result: by evidence, or in a later answer."""
    happened = owner.evidence.filter(outcome=models.Evidence.Outcome.HAPPENED)
    found: list[object] = list(happened.values_list("content", flat=True))
    for note in _answers(owner):
        said = note.content.get("receipt") or note.content.get("reason")
        found.append({"summary": said, "value": {"confirmed_by": note.content.get("by")}})
    return found


def _undone(row: models.Occurrence) -> frozenset[str]:
    """Return the state that an undo of it says; nothing where there is none, or where it did not happen."""
    states = models.Occurrence.objects.filter(owner__undo_of=row).values_list("state", flat=True)
    if lifecycle.Occurrence.STANDING in states:
        return frozenset({lifecycle.Occurrence.UNDONE})
    return (
        frozenset({lifecycle.Occurrence.UNKNOWN}) if lifecycle.Occurrence.UNKNOWN in states else frozenset()
    )


def _states(owner: models.Action) -> frozenset[str]:
    if owner.status != lifecycle.Action.ABANDONED:
        return _AGREES.get(owner.status, frozenset({lifecycle.Occurrence.VOID}))
    # Given up as unknowable; a later answer is a note in the log, and settles the occurrence alone.
    found: str = lifecycle.Occurrence.UNKNOWN
    for note in _answers(owner):
        found = _LATER[note.content["answer"]]
    return frozenset({found})


def _answers(owner: models.Action) -> list[models.Entry]:
    """Return the notes about answers that came when the action had been given up."""
    asked = owner.reviews.filter(kind=lifecycle.ReviewKind.IN_DOUBT)
    reviews = dict(
        asked.values_list("pk", "run_id")
    )  # a later attempt that waits for it asks in its own name
    notes = models.Entry.objects.filter(run__in=set(reviews.values()), kind=lifecycle.EntryKind.NOTE)
    return [
        note
        for note in notes.order_by("run_id", "position")
        if note.content.get("review") in reviews and note.content.get("answer") in _LATER
    ]
