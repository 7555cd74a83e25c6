"""Which effects are being taken back, or were, by whom it was asked: read from actions, facts and new attempts."""

from __future__ import annotations

from collections.abc import Collection

from runs import lifecycle
from runs.models.action import Action
from runs.models.fields import values
from runs.models.log import Entry, Fact
from runs.models.occurrence import Occurrence
from runs.models.run import Run

TAKEN_BACK = "taken_back"
"""The effects that the plan of a failed run has taken back: trying on from there would rest on what isn't there."""


def pending(root: int, rows: Collection[Occurrence]) -> dict[int, int]:
    """Return, by occurrence, the run that is to take it back: asked for, held, under way or in doubt."""
    wanted = {row.pk for row in rows}
    if not wanted:
        return {}
    found: dict[int, int] = {}
    for run in Run.objects.filter(root=root).exclude(status__in=values(lifecycle.RUN_ENDED)).order_by("pk"):
        left = Fact.objects.filter(run=run, number__gt=run.folded, kind=Fact.Kind.UNDO)
        asked = {fact.content["occurrence"] for fact in left}
        if not run.begun:
            first = Entry.objects.filter(run=run).order_by("position").first()
            asked.update(first.content.get("undo_first", ()) if first is not None else ())
        found |= dict.fromkeys(asked & wanted, run.pk)
    open_still = Action.objects.filter(undo_of__in=wanted, status__in=values(lifecycle.ACTION_OPEN))
    return found | {int(undo or 0): run for undo, run in open_still.values_list("undo_of", "run")}


def given_up(row: Occurrence) -> Action | None:
    """Return the newest undo of it of which nobody could say whether it happened, None where there is none."""
    undos = Action.objects.filter(undo_of=row, status=lifecycle.Action.ABANDONED)
    return undos.select_related("occurrence").order_by("-pk").first()


def by_plan(run: Run) -> dict[int, str]:
    """Return the occurrences whose undo this attempt's plan has asked for, since it failed, and their states."""
    lines = Entry.objects.filter(run=run, kind=lifecycle.EntryKind.CALL).order_by("position")
    wanted = [line.content["undo_of"] for line in lines if line.content.get("by") == ""]
    return dict(Occurrence.objects.filter(pk__in=wanted).values_list("pk", "state"))
