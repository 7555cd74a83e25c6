"""Erasing by policy, lineage by lineage: sealed, verified, told, and only then erased, each in commits of its own."""

from __future__ import annotations

import datetime
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models import Exists, F, OuterRef

from runs import models, state
from runs.engine import chains, comparing_erased, told, verifier
from runs.engine.comparing import Broken
from runs.transitions import pruning, refusals, retention

BATCH = 200
SHOWN = 20
"""So many lineages that are left out are named with the reason; the others are counted."""
Part = models.Tombstone.Part

_SIZES = """
SELECT count(*), coalesce(sum(octet_length(e.content)), 0), coalesce(sum(pg_column_size(e.*)), 0)
FROM runs_entry e JOIN runs_run r ON r.id = e.run_id WHERE r.root_id = %s
"""
_EFFECTS = """
SELECT count(*), coalesce(sum(pg_column_size(o.*) + pg_column_size(a.*)), 0)
FROM runs_occurrence o LEFT JOIN runs_action a ON a.id = o.owner_id WHERE o.root_id = %s
"""


@dataclass
class Report:
    """What goes, or went: by part and agent the numbers of lineages, runs, log lines, effects and their bytes."""

    gone: dict[tuple[str, str], Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    sealed: int = 0
    left: int = 0
    why: list[tuple[int, str]] = field(default_factory=list)

    def leave(self, root: int, why: str) -> None:
        """Note a lineage that is due, and of which nothing is erased."""
        self.left += 1
        if len(self.why) < SHOWN:
            self.why.append((root, why))


def prune(*, dry_run: bool) -> Report:
    """Return what was erased of the lineages that are due, or, with `dry_run`, what would be.

    Ended half-way, it goes on where it was when it is called again.
    """
    report = Report()
    if not retention.days(Part.PAYLOADS):
        return report
    sealed: set[int] = set()
    if not dry_run:
        for root in _unfinished():
            _clear(root)
    _seal(report, sealed, dry_run=dry_run)
    needed = _separate()
    done: set[int] = set()
    for part in Part.values:
        before = retention.before(part)
        for root in _due(part, before) if before is not None else ():
            if root not in done:
                _prune(report, root, needed=needed, sealed=sealed, done=done, dry_run=dry_run)
    return report


def _seal(report: Report, sealed: set[int], *, dry_run: bool) -> None:
    before = retention.before(Part.PAYLOADS)
    assert before is not None
    for root in retention.ended(before):
        why = retention.why_kept(root, ended_before=before, beside=sealed if dry_run else ())
        try:
            if why is None and not dry_run:
                retention.seal_by_policy(root, part=Part.PAYLOADS)
        except refusals.Stale as refusal:
            why = refusal.message
        if why is None:
            report.sealed += 1
            sealed.add(root)
        else:
            report.leave(root, why)


def _due(part: str, before: datetime.datetime) -> Iterator[int]:
    """Give the first run of each lineage that ended before that moment and still has this part, newest first.

    Separate work comes before that whose log it goes on from.
    """
    told_of = models.Tombstone.objects.filter(run=OuterRef("pk"), part=part)
    later = models.Run.objects.filter(root=OuterRef("pk")).exclude(ended_at__lt=before)
    rows = models.Run.objects.filter(root=F("pk"), ended_at__lt=before)
    rows, below = rows.exclude(Exists(told_of)).exclude(Exists(later)).order_by("-pk"), 2**63 - 1
    while found := list(rows.filter(pk__lt=below).values_list("pk", flat=True)[:BATCH]):
        yield from found
        below = found[-1]


def _prune(
    report: Report,
    root: int,
    *,
    needed: Mapping[int, set[int]],
    sealed: set[int],
    done: set[int],
    dry_run: bool,
) -> None:
    runs = list(models.Run.objects.filter(root=root).select_related("agent_version__agent").order_by("pk"))
    first = next(run for run in runs if run.pk == root)
    if first.sealed_at is None and root not in sealed:
        return  # why not is said already
    last = max(run.ended_at for run in runs if run.ended_at is not None)
    had = set(models.Tombstone.objects.filter(run=root).values_list("part", flat=True))
    clocks = {part: retention.before(part) for part in Part.values if part not in had}
    due = {part: before for part, before in clocks.items() if before is not None and last < before}
    below = {new for run in runs for new in needed.get(run.pk, ())} - done
    below -= set(models.Tombstone.objects.filter(run__in=below).values_list("run", flat=True))
    before = min(due.values())
    why = retention.why_kept(root, ended_before=before, below=below, beside=sealed if dry_run else ())
    if why is None:
        sizes = _sizes(root)
        why = None if dry_run else _erased(root, runs, list(due), before, below)
    if why is not None:
        report.leave(root, why)
        return
    done.add(root)
    for part in due:
        report.gone[part, first.agent_version.agent.name].update(
            {"lineages": 1, "runs": len(runs), **sizes[part]}
        )


def _erased(
    root: int, runs: list[models.Run], due: list[str], before: datetime.datetime, below: set[int]
) -> str | None:
    """Erase these parts of the lineage; return in one sentence why not, where something speaks against it."""
    try:
        known = {run.pk: _known(run) for run in runs}
        pruning.tell(root, parts=due, before=before, below=below, known=known)
    except Broken as error:
        return f"It doesn't agree with its log, so that nothing of it is erased: {error}."
    except refusals.Stale as refusal:
        return refusal.message
    _clear(root)
    return None


def _known(run: models.Run) -> tuple[list[Any], Mapping[str, Any]]:
    """Return where the run's own lines go on from and its books, having verified it. Refuses Broken."""
    with verifier.one_moment():
        verifier.verify_run(run)
        old = models.Tombstone.objects.filter(run=run).order_by("pk").last()
        if old is not None:
            return old.content["cut"], old.content["books"]
        facts = told.Log()
        for line in models.Entry.objects.filter(run=run).order_by("position").iterator(chunk_size=500):
            facts.count(state.Entry(position=line.position, kind=line.kind, content=line.content))
        return list(chains.where(run)), comparing_erased.books(facts)


def _clear(root: int) -> None:
    while pruning.clear(root):
        pass


def _unfinished() -> list[int]:
    rows = models.Tombstone.objects.filter(cleared_at=None)
    return sorted(set(rows.values_list("run__root", flat=True)), reverse=True)


def _separate() -> dict[int, set[int]]:
    """Return, by run, the first runs of separate work that goes on from its log."""
    found: dict[int, set[int]] = defaultdict(set)
    for event in (
        models.AuditEvent.objects.filter(act="run.separated").order_by("seq").iterator(chunk_size=500)
    ):
        for ancestor, _ in event.content["path"]:
            found[int(ancestor)].add(event.run_id or 0)
    return found


def _sizes(root: int) -> dict[str, dict[str, int]]:
    with connection.cursor() as cursor:
        cursor.execute(_SIZES, [root])
        lines, content, whole = (int(value) for value in cursor.fetchone())
        cursor.execute(_EFFECTS, [root])
        effects, size = (int(value) for value in cursor.fetchone())
    return {
        Part.PAYLOADS: {"lines": lines, "bytes": content},
        Part.TIMELINE: {"lines": lines, "bytes": whole},
        Part.RECEIPTS: {"effects": effects, "bytes": size},
    }
