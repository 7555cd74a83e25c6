"""The path of a run: its ancestors' lines up to where it branched off, then its own. A branch copies nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast

from runs import lifecycle
from runs.models.fields import values
from runs.models.log import Entry
from runs.models.occurrence import Occurrence
from runs.models.plan import Plan
from runs.models.run import Run

if TYPE_CHECKING:
    from runs.models.action import Action

MAX_LENGTH = 32
"""Longest path; a longer one is refused, and separate work is begun instead."""

Path = Sequence[Sequence[int]]
"""Pairs of (ancestor, last position), oldest first; positions go on from one to the next."""


def cut(run: Run) -> int:
    """Return the position after which the run's own lines begin, 0 for a first attempt."""
    return int(run.path[-1][1]) if run.path else 0


def holder(run: Run, position: int) -> int:
    """Return the id of the run that holds the line at `position` of this run's path."""
    return next((int(ancestor) for ancestor, last in run.path if position <= last), run.pk)


def lines(path: Path, own: int | None = None) -> Iterator[Entry]:
    """Return the lines of a path in order, then those of the run `own` if it is given."""
    for ancestor, last in path:
        yield from Entry.objects.filter(run=ancestor, position__lte=last).order_by("position").iterator(500)
    if own is not None:
        yield from Entry.objects.filter(run=own).order_by("position").iterator(500)


def closed_on(path: Path, action: Action) -> bool:
    """Return whether the call of an ancestor's action was closed at or before that ancestor's cut.

    Only then it lies behind the path's end: a call that was open at the cut is opened again by the new attempt.
    """
    last = {int(ancestor): int(last) for ancestor, last in path}.get(action.run_id)
    if last is None or action.reply_position > last:
        return False
    call = f'"call":[{action.reply_position},{action.call_index}]'
    return (
        Entry.objects.filter(
            run=action.run_id,
            kind=lifecycle.EntryKind.RESULT,
            position__gt=action.reply_position,
            position__lte=last,
        )
        .annotate(text=Cast("content", TextField()))
        .filter(text__contains=call)
        .exists()
    )


def uses(path: Path, own: int | None, occurrence: Occurrence) -> bool:
    """Return whether an action on the path owns or absorbed the occurrence: of the run `own`, or of an ancestor."""
    ids = [ancestor for ancestor, _ in path]
    runs = [*ids, *([] if own is None else [own])]
    used = occurrence.actions.filter(run_id__in=runs, identity_digest=occurrence.identity_digest)
    return any(action.run_id == own or closed_on(path, action) for action in used)


def plan(run: Run, version: int) -> Plan | None:
    """Return a version of the plan on the run's path: its own, or an ancestor's from before the cut."""
    held = Q(run=run.pk)
    for ancestor, last in run.path:
        held |= Q(run=ancestor, position__lte=last)
    return Plan.objects.filter(held, version=version).order_by("-position").first()


def in_the_world(roots: Collection[int]) -> QuerySet[Occurrence]:
    """Return what stands, is open or is unknown in the lineages of these roots."""
    states = [lifecycle.Occurrence.STANDING, lifecycle.Occurrence.OPEN, lifecycle.Occurrence.UNKNOWN]
    rows = Occurrence.objects.filter(root__in=roots, state__in=states)
    return rows.select_related("owner").order_by("pk")


def proposed_before(run: Run, identity_digest: str) -> bool:
    """Return whether anything with this identity was proposed on the run's path; asked at every proposal."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM runs_action WHERE run_id = ANY(%s) AND identity_digest = %s)",
            [[run.pk, *(ancestor for ancestor, _ in run.path)], bytes.fromhex(identity_digest)],
        )
        row = cursor.fetchone()
    return row is not None and bool(row[0])


def left_behind(root: int, path: Path, own: int | None = None) -> list[Occurrence]:
    """Return what stands, is open or is unknown in the lineage of `root` and isn't on the path."""
    return [row for row in in_the_world([root]) if not uses(path, own, row)]


def current(root: int) -> QuerySet[Run]:
    """Return the lineage's current live attempt: the one that no other has superseded."""
    return Run.objects.filter(root=root, mode=Run.Mode.LIVE, superseded_by__isnull=True).order_by("-pk")


def predecessors() -> QuerySet[Run]:
    """Return, for use in a query over runs, the attempt that the run supersedes and that hasn't ended."""
    return Run.objects.filter(superseded_by=OuterRef("pk")).exclude(status__in=values(lifecycle.RUN_ENDED))


def unsettled_of(root: int | OuterRef) -> QuerySet[Occurrence]:
    """Return the lineage's effects that may or may not have happened and that nobody gave up as unknowable."""
    return Occurrence.objects.filter(
        root=root, state__in=[lifecycle.Occurrence.OPEN, lifecycle.Occurrence.UNKNOWN]
    ).exclude(owner__status=lifecycle.Action.ABANDONED)


def ready() -> Q:
    """Return the condition that a run may begin: what came before it in its lineage has ended and is settled.

    It holds for every run that has begun, and for a dry run, which changes nothing.
    """
    waits = Q(Exists(predecessors())) | Q(Exists(unsettled_of(OuterRef("root"))))
    return Q(begun=True) | Q(mode=Run.Mode.DRY_RUN) | ~waits
