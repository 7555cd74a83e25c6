"""Erasing what is kept no longer: told first, in the audit chain and by tombstones, then done in small commits.

1. `tell`: one commit writes the tombstones and their line in the audit chain, and empties the run rows.
2. `clear`: each call is one commit that erases some rows which the tombstones permit; killed at any point, it goes on
   from what is left.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from django.db import connection
from django.db.models import Model, QuerySet

from runs import models
from runs.models import tombstone
from runs.transitions import audit, clock_time, inbox, retention, tombstones
from runs.transitions.committing import committing
from runs.transitions.refusals import Stale

BATCH = 500
"""So many rows are erased in one commit."""
TOLD = "lineage.pruned"
Part = models.Tombstone.Part
Step = Callable[[int, list[int], int], int]
"""Erases of the lineage of this root, with these runs, so many rows at most, and says how many."""
GONE, GONE_VALUE = "(erased)", {"erased": True}

_LINES_EMPTIED = """
UPDATE runs_entry SET content = '{"erased":"' || encode(sha256(convert_to(content, 'UTF8')), 'hex') || '"}'
WHERE id = ANY(ARRAY(SELECT id FROM runs_entry WHERE run_id = ANY(%s)
AND content !~ '^{"erased":"[0-9a-f]{64}"}$' ORDER BY run_id, position LIMIT %s))
"""
# From the end, so that what is left is always a log from its beginning.
_LINES_GONE = """
DELETE FROM runs_entry WHERE id = ANY(ARRAY(SELECT id FROM runs_entry WHERE run_id = %s
ORDER BY position DESC LIMIT %s))
"""


def tell(
    root_id: int,
    *,
    parts: Sequence[str],
    before: datetime.datetime,
    below: Collection[int],
    known: Mapping[int, tuple[list[Any], Mapping[str, Any]]],
) -> list[models.Tombstone]:
    """Return the tombstones of the sealed lineage, of each part for each run; from here on it is erased.

    `known` has where each run's own lines go on from and its books, as they were when it was last verified. Refuses
    Stale what `retention.why_kept` does, and a run that isn't known.
    """
    with committing("prune_tell"):
        root = inbox.lock(root_id)
        why = retention.why_kept(root_id, ended_before=before, below=below)
        if root.sealed_at is None or why is not None:
            raise Stale(why or "Something may still go on from this lineage; it is to be sealed first.")
        if models.Tombstone.objects.filter(run=root, part__in=parts).exists():
            raise Stale("Somebody else has just erased this.")
        runs = list(models.Run.objects.filter(root=root).order_by("pk"))
        if {run.pk for run in runs} != known.keys():
            raise Stale("This lineage isn't what was verified.")
        made = []
        for part in parts:
            days = retention.days(part)
            for run in runs:
                cut, books = known[run.pk]
                said = tombstones.content(run, part, days=days, cut=cut, books=books)
                made.append(models.Tombstone.objects.create(run=run, part=part, content=said))
        if Part.PAYLOADS in parts:
            for run in runs:
                _empty(run)
        for part in parts:
            digests = {str(row.run_id): tombstones.digest(row) for row in made if row.part == part}
            content = {"part": part, "days": retention.days(part), "runs": digests}
            audit.append(TOLD, actor=retention.POLICY, run=root, subject=f"run {root.pk}", content=content)
        return made


def _empty(run: models.Run) -> None:
    run.input = tombstone.erased(run.input_digest)
    run.title, run.error, run.summary, run.hold_reason, run.stop_reason = (
        f"Run {run.pk} {GONE}",
        "",
        "",
        "",
        "",
    )
    run.save(update_fields=["input", "title", "error", "summary", "hold_reason", "stop_reason"])


def clear(root_id: int) -> bool:
    """Erase in one commit what the tombstones name, `BATCH` rows of it at most; return whether some is left."""
    with committing("prune_rows"):
        rows = models.Run.objects.select_for_update(no_key=True, of=("self",)).filter(root=root_id)
        runs = list(rows.order_by("pk").values_list("pk", flat=True))
        told = models.Tombstone.objects.filter(run__in=runs, cleared_at=None)
        open_parts = set(told.values_list("part", flat=True))
        left = BATCH
        for part, step in _STEPS:
            if part in open_parts:
                left -= step(root_id, runs, left)
                if left <= 0:
                    return True
        told.update(cleared_at=clock_time.now())
        return False


def _effects_emptied(root: int, runs: list[int], most: int) -> int:
    """Before anything else: their receipts stand in the log."""
    effects = models.Occurrence.objects.filter(root=root).exclude(identity=GONE_VALUE)
    rows = list(effects.order_by("pk")[:most])
    digests = dict(tombstones.receipts(models.Occurrence.objects.filter(pk__in=[row.pk for row in rows])))
    for row in rows:
        row.identity = GONE_VALUE
        row.receipt = tombstone.erased(digests[row.pk]) if row.pk in digests else None
        row.save(update_fields=["identity", "receipt"])
    return len(rows)


def _actions_emptied(root: int, runs: list[int], most: int) -> int:
    rows = models.Action.objects.filter(run__in=runs).exclude(identity=GONE_VALUE)
    return _changed(rows, most, identity=GONE_VALUE, preview=None, precondition=None, error="")


def _reviews_emptied(root: int, runs: list[int], most: int) -> int:
    rows = models.Review.objects.filter(run__in=runs).exclude(title=GONE)
    return _changed(rows, most, title=GONE, content={}, shape=None, target=None, same=None)


def _looks_emptied(root: int, runs: list[int], most: int) -> int:
    rows = models.Verification.objects.filter(occurrence__root=root).exclude(said="")
    return _changed(rows, most, said="")


def _lines_emptied(root: int, runs: list[int], most: int) -> int:
    if models.Tombstone.objects.filter(run=root, part=Part.TIMELINE).exists():
        return 0  # the lines themselves go
    return _sql(_LINES_EMPTIED, [runs, most])


def _lines(root: int, runs: list[int], most: int) -> int:
    """Erase the last lines of the newest run first: what goes on from a line goes before it."""
    left, gone = models.Entry.objects.filter(run__in=runs), 0
    while gone < most:
        newest = left.order_by("-run").values_list("run", flat=True).first()
        if newest is None:
            break
        gone += _sql(_LINES_GONE, [newest, most - gone])
    return gone


def _actions(root: int, runs: list[int], most: int) -> int:
    asked = [
        action.pk
        for run in models.Run.objects.filter(pk__in=runs)
        for action in tombstones.asked(run).only("pk")
    ]
    return _gone(models.Action.objects.filter(run__in=runs).exclude(pk__in=asked), most)


def _deleting(model: type[Model], **by: str) -> Step:
    """Return the step that deletes rows of a table, found by `runs` or by `root`."""
    ((name, way),) = by.items()

    def step(root: int, runs: list[int], most: int) -> int:
        return _gone(model._base_manager.filter(**{way: runs if name == "runs" else root}), most)

    return step


_STEPS: tuple[tuple[str, Step], ...] = (
    (Part.PAYLOADS, _effects_emptied),
    (Part.PAYLOADS, _actions_emptied),
    (Part.PAYLOADS, _reviews_emptied),
    (Part.PAYLOADS, _looks_emptied),
    (Part.PAYLOADS, _deleting(models.Rehearsal, runs="review__run__in")),
    (Part.PAYLOADS, _deleting(models.Revision, runs="action__run__in")),
    (Part.PAYLOADS, _deleting(models.Fact, runs="run__in")),
    (Part.PAYLOADS, _deleting(models.Plan, runs="run__in")),
    (Part.PAYLOADS, _deleting(models.PlanStep, runs="run__in")),
    (Part.PAYLOADS, _lines_emptied),
    (Part.TIMELINE, _lines),
    (Part.RECEIPTS, _deleting(models.Words, runs="run__in")),
    (Part.RECEIPTS, _deleting(models.Verification, root="occurrence__root")),
    (Part.RECEIPTS, _deleting(models.Evidence, runs="action__run__in")),
    (Part.RECEIPTS, _deleting(models.Occurrence, root="root")),
    (Part.RECEIPTS, _actions),
)


def _changed(rows: QuerySet[Any], most: int, **new: Any) -> int:
    return int(rows.model._base_manager.filter(pk__in=_some(rows, most)).update(**new))


def _gone(rows: QuerySet[Any], most: int) -> int:
    """Delete some of the rows, and nothing that hangs on them: there the database refuses."""
    meta = rows.model._meta
    table, key = connection.ops.quote_name(meta.db_table), connection.ops.quote_name(meta.pk.column)
    found = _some(rows, most)
    return _sql(f"DELETE FROM {table} WHERE {key} = ANY(%s)", [found]) if found else 0  # noqa: S608 our own models


def _some(rows: QuerySet[Any], most: int) -> list[Any]:
    return list(rows.order_by("pk").values_list("pk", flat=True)[:most])


def _sql(text: str, values: list[Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(text, values)
        return int(cursor.rowcount)
