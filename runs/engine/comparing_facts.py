"""Comparing what others have left for a run, and what was learnt past its fence, to log and audit chain.

The line that a fact led to names its digest, and so does the audit event that evidence came with. What is older than
the first of these names was left by an earlier version of this code.
"""

from __future__ import annotations

from collections.abc import Mapping

from runs import models
from runs.engine.comparing import Broken, readable
from runs.transitions import evidence as leaving
from runs.transitions import inbox


def run(row: models.Run, told: Mapping[int, str]) -> None:
    """Compare a run's facts to the digests that its own lines name, by inbox number; refuse Broken."""
    first, found = min(told, default=None), set()
    for fact in models.Fact.objects.filter(run=row).order_by("number"):
        what = f"run {row.pk}, fact {fact.number}"
        if fact.number > row.inbox:
            raise Broken(f"{what}: the run doesn't know of it")
        found.add(fact.number)
        with readable(what):
            digest = inbox.digest(fact)
        if told.get(fact.number, digest) != digest:
            raise Broken(f"{what}: it is not what the log says was left")
        if fact.number not in told and first is not None and first < fact.number <= row.folded:
            raise Broken(f"{what}: the log doesn't know it")
    _learnt(row)
    for number in told:
        if number not in found:
            raise Broken(f"run {row.pk}, fact {number}: it is gone")
        if number > row.folded:
            raise Broken(f"run {row.pk}: it was read up to fact {number}, and says {row.folded}")


def _learnt(row: models.Run) -> None:
    """Evidence is left as a fact once, in its order: also for a run that has ended, and reads nothing any more."""
    left = models.Fact.objects.filter(run=row, kind=models.Fact.Kind.EVIDENCE).order_by("number")
    with readable(f"run {row.pk}, evidence"):
        named = [fact.content["evidence"] for fact in left]
    there = list(models.Evidence.objects.filter(action__run=row).order_by("pk").values_list("pk", flat=True))
    if named != there:
        raise Broken(f"run {row.pk}, evidence: the facts of the run name {named}, and there is {there}")


def evidence() -> None:
    """Compare all evidence to the audit events that it came with; refuse Broken."""
    events = models.AuditEvent.objects.filter(act=leaving.LEFT).order_by("seq")
    told = {event.content["evidence"]: event.content["digest"] for event in events.iterator(chunk_size=500)}
    first = min(told, default=None)
    for row in models.Evidence.objects.order_by("pk").iterator(chunk_size=500):
        with readable(f"evidence {row.pk}"):
            digest = leaving.digest(row)
        known = told.pop(row.pk, None)
        if known is None and first is not None and row.pk > first:
            raise Broken(f"evidence {row.pk}: the audit chain doesn't know it")
        if known is not None and known != digest:
            raise Broken(f"evidence {row.pk}: it is not what the audit chain says was learnt")
    erased = models.Tombstone.objects.filter(part=models.Tombstone.Part.RECEIPTS).values("run")
    for event in events.exclude(run__in=erased).iterator(chunk_size=500) if told else ():
        if event.content["evidence"] in told:
            raise Broken(f"evidence {event.content['evidence']}: it is gone")
