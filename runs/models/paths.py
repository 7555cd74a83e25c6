"""The path of a run: its ancestors' lines up to where it branched off, then its own. A branch copies nothing."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from django.apps import apps
from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Cast

from runs import exact, lifecycle, state
from runs.models import columns, wire
from runs.models.action import Action
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


_TOLD = """
SELECT position, kind, content FROM runs_entry
WHERE run_id = $1 AND position > $2 AND position <= $3 ORDER BY position LIMIT 1000
"""


def told(path: Path, own: int | None = None) -> Iterator[state.Entry]:
    """Return the lines of a path in order, then those of the run `own` if it is given, as the state needs them."""
    for run, last in [*path, *([] if own is None else [(own, 2**31 - 1)])]:
        seen: int | None = 0
        while seen is not None:
            found = wire.execute(_TOLD, [columns.number(run), columns.number(seen), columns.number(last)])
            seen = None
            for position, kind, content in found:
                assert position is not None
                assert kind is not None
                assert content is not None
                seen = int(position)
                yield state.Entry(seen, kind.decode(), exact.stored(content.decode()))


def checkpoints(run: Run) -> QuerySet[Entry]:
    """Return the checkpoints of a run's path."""
    found = Q(run=run)
    for ancestor, last in run.path:
        found |= Q(run=ancestor, position__lte=last)
    return Entry.objects.filter(found, number__isnull=False)


def input_at(run: Run, number: int) -> dict[str, Any]:
    """Return the input that counts at a checkpoint of the run's path, or the run's own where there is none."""
    line = checkpoints(run).filter(number=number).select_related("run").first()
    found: dict[str, Any] = (line.run if line is not None else run).input
    return found


def to(run: Run, line: Entry) -> list[list[int]]:
    """Return the path that leads through `run`'s path to the line at a checkpoint of it, and ends there."""
    before = [[int(ancestor), int(last)] for ancestor, last in run.path if last < line.position]
    return [*before, [line.run_id, line.position]]


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


def off(path: Path, own: int | None, rows: Collection[Occurrence]) -> list[Occurrence]:
    """Return the occurrences that no action on the path owns or absorbed: of the run `own`, or of an ancestor.

    The number of queries doesn't grow with the rows, but for the few calls of each ancestor's last reply.
    """
    if not rows:
        return []
    lasts = {int(ancestor): int(last) for ancestor, last in path}
    used = apps.get_model("runs", "Action").objects.filter(
        occurrence__in=rows,
        run__in=[*lasts, *([] if own is None else [own])],
        identity_digest__in={row.identity_digest for row in rows},  # an index knows it
    )
    replied = {ancestor: _last_reply(ancestor, last) for ancestor, last in lasts.items()}
    on_path = set()
    for action in used.only("occurrence", "run", "reply_position", "call_index"):
        # The provider is asked again once every call is closed: what was proposed before its last reply is.
        if action.run_id == own or action.reply_position < replied[action.run_id] or closed_on(path, action):
            on_path.add(action.occurrence_id)
    return [row for row in rows if row.pk not in on_path]


def _last_reply(run: int, last: int) -> int:
    found = Entry.objects.filter(run=run, kind=lifecycle.EntryKind.REPLY, position__lte=last)
    return found.order_by("-position").values_list("position", flat=True).first() or 0


def uses(path: Path, own: int | None, occurrence: Occurrence) -> bool:
    """Return whether an action on the path owns or absorbed the occurrence."""
    return not off(path, own, [occurrence])


def plans(run: Run) -> QuerySet[Plan]:
    """Return the versions of the plan on the run's path: its own, and its ancestors' from before the cut."""
    held = Q(run=run.pk)
    for ancestor, last in run.path:
        held |= Q(run=ancestor, position__lte=last)
    return Plan.objects.filter(held)


def plan(run: Run, version: int) -> Plan | None:
    """Return a version of the plan on the run's path."""
    return plans(run).filter(version=version).order_by("-position").first()


def in_the_world(roots: Collection[int]) -> QuerySet[Occurrence]:
    """Return what stands, is open or is unknown in the lineages of these roots."""
    states = [lifecycle.Occurrence.STANDING, lifecycle.Occurrence.OPEN, lifecycle.Occurrence.UNKNOWN]
    rows = Occurrence.objects.filter(root__in=roots, state__in=states)
    return rows.select_related("owner").order_by("pk")


def proposed_before(run: Run, identity_digest: str) -> bool:
    """Return whether a first attempt has proposed anything with this identity; asked at every proposal."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT EXISTS (SELECT FROM runs_action WHERE run_id = %(run)s AND identity_digest = %(digest)s)"
            " OR EXISTS (SELECT FROM runs_action WHERE run_id = %(run)s AND proposed_identity = %(digest)s)",
            {"run": run.pk, "digest": bytes.fromhex(identity_digest)},
        )
        row = cursor.fetchone()
    return row is not None and bool(row[0])


def open_actions(run: Run) -> QuerySet[Action]:
    """Return the run's open actions: of its newest reply, or opened again or made after it.

    The provider is asked again only when every call of its last reply is closed.
    """
    return Action.objects.filter(
        run=run, reply_position__gte=run.reply_position, status__in=lifecycle.ACTION_OPEN
    )


def left_behind(root: int, path: Path, own: int | None = None) -> list[Occurrence]:
    """Return what stands, is open or is unknown in the lineage of `root` and isn't on the path."""
    return off(path, own, list(in_the_world([root])))


def current(root: int) -> QuerySet[Run]:
    """Return the lineage's current live attempt: the one that no other has superseded."""
    return Run.objects.filter(root=root, mode=Run.Mode.LIVE, superseded_by__isnull=True).order_by("-pk")


def predecessors() -> QuerySet[Run]:
    """Return, for use in a query over runs, the attempt that the run supersedes and that hasn't ended."""
    return Run.objects.filter(superseded_by=OuterRef("pk")).exclude(status__in=values(lifecycle.RUN_ENDED))


def unsettled_of(root: int | OuterRef) -> QuerySet[Occurrence]:
    """Return the lineage's effects that may or may not stand, but for those that were given up as unknowable.

    That is itself, or its undo.
    """
    given_up = lifecycle.Action.ABANDONED
    rows = Occurrence.objects.filter(
        root=root, state__in=[lifecycle.Occurrence.OPEN, lifecycle.Occurrence.UNKNOWN]
    )
    return rows.exclude(owner__status=given_up).exclude(undos__status=given_up)


def ready() -> Q:
    """Return the condition that a run may begin: what came before it in its lineage has ended and is settled.

    It holds for every run that has begun, and for a dry run, which changes nothing.
    """
    waits = Q(Exists(predecessors())) | Q(Exists(unsettled_of(OuterRef("root"))))
    return Q(begun=True) | Q(mode=Run.Mode.DRY_RUN) | ~waits
