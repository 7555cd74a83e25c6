"""The two chains: each run's log, line by line, and the audit chain, which names heads of the logs in turn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from django.db import connection
from django.db.models import TextField
from django.db.models.functions import Cast

from runs import exact, lifecycle, models
from runs.engine.comparing import Broken, readable
from runs.models import tombstone
from runs.transitions import anchors, audit, log

_BEHIND = """
SELECT v.run, v.position
FROM unnest(%s::bigint[], %s::integer[], %s::text[]) AS v (run, position, head)
LEFT JOIN runs_entry e ON e.run_id = v.run AND e.position = v.position
LEFT JOIN runs_run r ON r.id = v.run
WHERE e.head IS DISTINCT FROM decode(v.head, 'hex') AND NOT (
  e.head IS NULL AND EXISTS (SELECT FROM runs_tombstone t WHERE t.run_id = v.run AND t.part = 'timeline')
  AND (v.position < r.position OR (v.position = r.position AND r.head = decode(v.head, 'hex'))))
ORDER BY 1, 2 LIMIT 1
"""


def events(heads: Mapping[int, str]) -> tuple[int, str]:
    """Return number and head of the audit chain; it must go on from each of these heads, by event. Refuses Broken."""
    previous, count = exact.EMPTY, 0
    # The text as it is stored, so that no byte of it may differ, whatever it is read as.
    rows = models.AuditEvent.objects.defer("content").annotate(text=Cast("content", TextField()))
    for event in rows.order_by("seq").iterator(chunk_size=500):
        count += 1
        with readable(f"audit event {event.seq}"):
            event.content = exact.kept(event.text)
        if event.seq != count:
            raise Broken(f"audit event {count} is missing")
        if event.previous != previous:
            raise Broken(f"audit event {event.seq} doesn't follow the one before it")
        if event.hash != audit.expected_hash(event):
            raise Broken(f"audit event {event.seq} was changed")
        if heads.get(event.seq, event.hash) != event.hash:
            raise Broken(f"audit event {event.seq} is not the one whose head was kept elsewhere")
        previous = event.hash
    head = models.AuditHead.objects.get(pk=1)
    if (head.seq, head.hash) != (count, previous):
        raise Broken(f"the audit chain ends at event {count}, but its head says {head.seq}")
    if heads and max(heads) > count:
        raise Broken(f"the audit chain ends at event {count}, but event {max(heads)} was kept elsewhere")
    return count, previous


def anchored() -> None:
    """Compare the logs of runs to what the audit chain says of them: none is behind its last anchor."""
    for event in models.AuditEvent.objects.filter(act=anchors.ACT).order_by("seq").iterator(chunk_size=20):
        with readable(f"audit event {event.seq}"):
            named = [(run, position, head) for run, position, head in event.content["runs"]]
        with connection.cursor() as cursor:
            cursor.execute(_BEHIND, [list(part) for part in zip(*named, strict=True)])
            found = cursor.fetchone()
        if found is not None:
            run, position = found
            raise Broken(
                f"run {run}: log position {position} is not what the audit chain saw, or was cut off"
            )


def where(run: models.Run) -> tuple[str, int, int]:
    """Return head, position and checkpoint number from which the run's own lines go on."""
    if not run.path:
        return exact.EMPTY, 0, 0
    ancestor, position = run.path[-1]
    line = models.Entry.objects.filter(run=ancestor, position=position, number__isnull=False).first()
    if line is None or line.number is None:
        raise Broken(f"run {run.pk}: the checkpoint that it goes on from is gone")
    return line.head, line.position, line.number


def _seen(run: models.Run) -> dict[int, str]:
    """Return the heads of the run's log that the audit chain names, by position."""
    acts = ["plan.edited", *(f"run.{end}" for end in lifecycle.RUN_ENDED)]
    events = models.AuditEvent.objects.filter(run=run, act__in=acts)
    return {event.content["position"]: event.content["head"] for event in events}


def lines(
    run: models.Run, *, cut: tuple[str, int, int] | None = None, erased: bool = False, partly: bool = False
) -> Iterator[models.Entry]:
    """Give the run's own lines, each compared to the one before it and to the audit chain. Refuses Broken.

    Of an `erased` run contents may be digests; `partly` lets its last lines be gone. `cut` is where its lines go on
    from, where that isn't to be read from the log.
    """
    seen = _seen(run)
    head, position, number = cut or where(run)
    rows = models.Entry.objects.filter(run=run).defer("content", "counters")
    rows = rows.annotate(text=Cast("content", TextField()), counted=Cast("counters", TextField()))
    for line in rows.order_by("position").iterator(chunk_size=500):
        position += 1
        with readable(f"run {run.pk}: log position {line.position}"):
            line.content = exact.kept(line.text)
            line.counters = None if line.counted is None else exact.stored(line.counted)
        if line.position != position:
            raise Broken(f"run {run.pk}: log position {position} is missing")
        if _after(head, line, erased=erased) != line.head:
            raise Broken(
                f"run {run.pk}: log position {position} was changed, or doesn't follow the one before it"
            )
        if line.head != seen.get(position, line.head):
            raise Broken(f"run {run.pk}: log position {position} is not what the audit chain saw")
        if line.number is not None:
            number += 1
            if line.number != number:
                raise Broken(f"run {run.pk}: checkpoint {number} is missing")
        head = line.head
        yield line
    if seen.get(run.position, run.head) != run.head:
        raise Broken(f"run {run.pk}: the end of its log is not what the audit chain saw")
    if not partly and (run.position, run.head, run.checkpoint_number) != (position, head, number):
        raise Broken(f"run {run.pk}: its log ends at position {position}, but the run says {run.position}")


def _after(head: str, line: models.Entry, *, erased: bool) -> str:
    """Return the head after a line; in the place of an erased content its digest may stand."""
    left = tombstone.digest_left(line.content) if erased else None
    if left is None:
        return log.chain(head, line)
    counted = None if line.counters is None else exact.text_of(line.counters)
    return log.link(head, line.run_id, line.position, line.kind, left, line.number, line.boundary, counted)
