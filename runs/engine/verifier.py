"""Proving that nothing was changed behind the product's back.

Three comparisons: the audit chain against its head, each run's log against its chain and head, and the rows with a
status against the fold of the log. A database owner who also holds the keys, or who cuts off a tail together with its
head row, is beyond what this can find; a copy of the head kept elsewhere finds the latter.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from runs import exact, lifecycle, models, state
from runs.transitions import audit, log


class Broken(Exception):
    """The first row that doesn't agree; one sentence."""


@dataclass(frozen=True, kw_only=True)
class Verified:
    """How much was read, and the head that it leads to."""

    events: int
    head: str
    runs: int
    entries: int


def verify() -> Verified:
    """Return what was verified; refuse (Broken) with the first bad row."""
    events, head = _audit()
    runs = entries = 0
    for run in models.Run.objects.order_by("pk").iterator(chunk_size=200):
        entries += _run(run)
        runs += 1
    for event in (
        models.AuditEvent.objects.filter(act="run.started").exclude(run__isnull=False).order_by("seq")
    ):
        raise Broken(f"audit event {event.seq}: the run that it started is gone")
    for occurrence in (
        models.Occurrence.objects.select_related("owner").order_by("pk").iterator(chunk_size=200)
    ):
        _occurrence(occurrence)
    return Verified(events=events, head=head, runs=runs, entries=entries)


def _audit() -> tuple[int, str]:
    previous, count = exact.EMPTY, 0
    for event in models.AuditEvent.objects.order_by("seq").iterator(chunk_size=500):
        count += 1
        if event.seq != count:
            raise Broken(f"audit event {count} is missing")
        if event.previous != previous:
            raise Broken(f"audit event {event.seq} doesn't follow the one before it")
        if event.hash != audit.expected_hash(event):
            raise Broken(f"audit event {event.seq} was changed")
        previous = event.hash
    head = models.AuditHead.objects.get(pk=1)
    if (head.seq, head.hash) != (count, previous):
        raise Broken(f"the audit chain ends at event {count}, but its head says {head.seq}")
    return count, previous


def _run(run: models.Run) -> int:
    """Return the number of entries of a run that agrees with its log."""
    if exact.digest_of(run.input) != run.input_digest:
        raise Broken(f"run {run.pk}: its input was changed")
    current = state.State()
    count = 0
    try:
        for line in _lines(run):
            count = line.position
            current = state.fold(
                [state.Entry(position=line.position, kind=line.kind, content=line.content)], current
            )
    except state.Broken as error:
        raise Broken(f"run {run.pk}, {error}") from error
    _compare(run, current)
    return count


def _lines(run: models.Run) -> Iterator[models.Entry]:
    head, position, number = exact.EMPTY, 0, 0
    for line in models.Entry.objects.filter(run=run).order_by("position").iterator(chunk_size=500):
        position += 1
        if line.position != position:
            raise Broken(f"run {run.pk}: log position {position} is missing")
        if exact.digest_of(line.content) != line.digest:
            raise Broken(f"run {run.pk}: the content at log position {position} was changed")
        if log.chain(head, line) != line.head:
            raise Broken(f"run {run.pk}: log position {position} doesn't follow the one before it")
        if line.number is not None:
            number += 1
            if line.number != number:
                raise Broken(f"run {run.pk}: checkpoint {number} is missing")
        head = line.head
        yield line
    if (run.position, run.head, run.checkpoint_number) != (position, head, number):
        raise Broken(f"run {run.pk}: its log ends at position {position}, but the run says {run.position}")


def _compare(run: models.Run, folded: state.State) -> None:
    """Compare every row with a status to what the log says."""
    if folded.counters.as_json() != log.counters(run):
        raise Broken(f"run {run.pk}: its counters differ from its log")
    ended = folded.ended if run.status in lifecycle.RUN_ENDED or folded.ended else None
    if (run.status if run.status in lifecycle.RUN_ENDED else None) != ended and run.reason != "retry":
        raise Broken(f"run {run.pk}: it is {run.status}, but its log says {folded.ended or 'not ended'}")
    effects = {call.id: call for call in folded.calls.values() if call.is_effect}
    rows = {(row.reply_position, row.call_index): row for row in models.Action.objects.filter(run=run)}
    if effects.keys() != rows.keys():
        raise Broken(f"run {run.pk}: its log holds {len(effects)} actions, the ledger {len(rows)}")
    for call_id, row in rows.items():
        _action(row, effects[call_id])
    steps = {step.id: step.state for step in folded.plan}
    found = dict(models.PlanStep.objects.filter(run=run).values_list("key", "state"))
    if steps != found:
        raise Broken(f"run {run.pk}: its plan steps differ from its log")


def _action(row: models.Action, call: state.CallState) -> None:
    told = (row.status, row.revision, row.digest, row.attempt, row.tool)
    if told != (call.status, call.revision, call.digest, len(call.attempts), call.tool):
        raise Broken(
            f"action {row.pk}: it is {row.status}, but the log of run {row.run_id} says {call.status}"
        )
    for revision in models.Revision.objects.filter(action=row):
        if exact.digest_of(revision.arguments) != revision.digest:
            raise Broken(f"action {row.pk}: the arguments of revision {revision.number} were changed")


_AGREES: dict[str, frozenset[str]] = {
    lifecycle.Action.SUCCEEDED: frozenset({lifecycle.Occurrence.STANDING, lifecycle.Occurrence.UNDONE}),
    lifecycle.Action.INTENT: frozenset({lifecycle.Occurrence.OPEN}),
    lifecycle.Action.IN_DOUBT: frozenset({lifecycle.Occurrence.UNKNOWN}),
    lifecycle.Action.ABANDONED: frozenset(  # it may be answered later; the call stays closed
        {lifecycle.Occurrence.UNKNOWN, lifecycle.Occurrence.STANDING, lifecycle.Occurrence.VOID}
    ),
    lifecycle.Action.FAILED: frozenset({lifecycle.Occurrence.VOID}),
}


def _occurrence(row: models.Occurrence) -> None:
    """Compare an occurrence to the action that owns it; contradicted ones have left that action behind."""
    wanted = _AGREES.get(row.owner.status)
    if wanted is not None and row.state not in wanted and not row.contradicted:
        raise Broken(
            f"occurrence {row.pk}: it is {row.state}, but its action {row.owner_id} is {row.owner.status}"
        )
