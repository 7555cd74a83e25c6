"""Comparing what was erased by policy to what the audit chain says of it, and what stays to its tombstones."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet

from runs import models, state
from runs.engine import chains, told
from runs.engine.accounts import Books
from runs.engine.comparing import Broken, readable
from runs.transitions import pruning, tombstones

Part = models.Tombstone.Part


def parts(root: int | None = None) -> dict[int, dict[str, models.Tombstone]]:
    """Return the tombstones by run and part, of one lineage or of all; each carries as `told` the event that names it.

    Refuses (Broken) one that was changed, one that nobody told of, and one that is gone.
    """
    events, rows = models.AuditEvent.objects.filter(act=pruning.TOLD), models.Tombstone.objects.all()
    if root is not None:
        events, rows = events.filter(run=root), rows.filter(run__root=root)
    named = {
        (int(run), event.content["part"]): (digest, event)
        for event in events.order_by("seq").iterator(chunk_size=100)
        for run, digest in event.content["runs"].items()
    }
    found: dict[int, dict[str, models.Tombstone]] = {}
    for row in rows.order_by("run", "pk").iterator(chunk_size=500):
        what = f"tombstone of run {row.run_id}, {row.part}"
        digest, event = named.pop((row.run_id, row.part), ("", None))
        if event is None:
            raise Broken(f"{what}: the audit chain doesn't know that this was erased")
        if tombstones.digest(row) != digest:
            raise Broken(f"{what}: it is not what the audit chain says")
        row.told = event.seq
        found.setdefault(row.run_id, {})[row.part] = row
    for run, part in named:
        raise Broken(f"tombstone of run {run}, {part}: it is gone")
    return found


def intact(rows: QuerySet[models.Occurrence]) -> QuerySet[models.Occurrence]:
    """Return those of the effects of whose lineages nothing was erased; the tombstone answers for the others."""
    return rows.exclude(Exists(models.Tombstone.objects.filter(run=OuterRef("root"))))


def run(row: models.Run, found: Mapping[str, models.Tombstone], books: Books) -> int:
    """Return how many lines are left of a run of which something was erased; refuse (Broken) what isn't as was told."""
    what = f"run {row.pk}"
    last = next(found[part] for part in reversed(Part.values) if part in found)
    with readable(f"tombstone of {what}"):
        said = last.content
        if tombstones.kept(row, last.part) != said["kept"]:
            raise Broken(f"{what}: what stays of it is not what its tombstone says")
        books.add(row, _facts(said["books"]))
        return _lines(row, found, said["cut"])


def _lines(row: models.Run, found: Mapping[str, models.Tombstone], cut: list[Any]) -> int:
    gone = found.get(Part.TIMELINE)
    count = sum(
        1 for _ in chains.lines(row, cut=(cut[0], cut[1], cut[2]), erased=True, partly=gone is not None)
    )
    if gone is not None and gone.cleared_at is not None and count:
        raise Broken(f"run {row.pk}: its log was erased, and {count} lines of it are there")
    return count


def books(facts: told.Log) -> dict[str, Any]:
    """Return what a run's own log says of budgets, for its tombstone."""
    return {
        "used": asdict(facts.used),
        "tools": dict(facts.tool_calls),
        "settled": {str(account): spent for account, spent in facts.settled.items()},
        "over": {str(account): spent for account, spent in facts.over.items()},
    }


def _facts(said: Mapping[str, Any]) -> told.Log:
    facts = told.Log()
    facts.used = state.Counters(**said["used"])
    facts.tool_calls = Counter(said["tools"])
    facts.settled = Counter({int(account): spent for account, spent in said["settled"].items()})
    facts.over = Counter({int(account): spent for account, spent in said["over"].items()})
    return facts
