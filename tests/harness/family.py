"""A run and those below it: what a hand-off may never do."""

from __future__ import annotations

from collections.abc import Collection

from runs import lifecycle, models

Occurrence = lifecycle.Occurrence


def children(run: models.Run) -> list[models.Run]:
    """Return the newest attempt of each piece of work that the run's lineage has handed over."""
    rows = models.Run.objects.filter(parent__root_id=run.root_id).order_by("root_id", "-pk")
    return list(rows.distinct("root_id"))


def below(run: int) -> list[int]:
    """Return the run and every run below it."""
    found = [run]
    for above in found:
        found += models.Run.objects.filter(parent=above).order_by("pk").values_list("pk", flat=True)
    return found


def intents(runs: Collection[int]) -> int:
    """Return how many effects of these runs were begun."""
    return models.Entry.objects.filter(run__in=runs, kind=lifecycle.EntryKind.INTENT).count()


def judge(run: models.Run) -> list[str]:
    """1.10, 4.11: one piece of work is one lineage, made with its release; how that ends is the hand-off's outcome."""
    handed = models.Occurrence.objects.filter(root_id=run.root_id, tool__startswith="hand_off.")
    pieces, lineages = handed.values("identity_digest").distinct().count(), len(children(run))
    found = [f"doubled: {pieces} pieces of work are {lineages} lineages"] if lineages > pieces else []
    for row in handed.select_related("owner"):
        made = models.Run.objects.filter(handed_by=row)
        if made.values("root_id").distinct().count() != 1:
            found.append(f"doubled: hand-off {row.pk} made {made.count()} runs of several lineages, or none")
        begun = models.Entry.objects.filter(run=row.owner.run_id, kind=lifecycle.EntryKind.INTENT)
        call = [row.owner.reply_position, row.owner.call_index]
        if not any(line.content["call"] == call for line in begun):
            found.append(f"unreleased: hand-off {row.pk} was made without an intent")
        happened = made.filter(status=lifecycle.Run.SUCCEEDED).exists()
        settled = row.state in {Occurrence.STANDING, Occurrence.VOID}
        if not settled or happened != (row.state == Occurrence.STANDING):
            ends = ", ".join(made.values_list("status", flat=True))
            found.append(f"untrue: hand-off {row.pk} is {row.state}, and its run is {ends}")
    return found
