"""What the log holds for the ledger's lines: arguments stand in the reply, receipts in the result, once each."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from typing import Any

from django.db.models import Q
from django.db.models.functions import Length

from runs import lifecycle, models
from runs.models import tombstone


def receipts(actions: Sequence[models.Action]) -> dict[int, dict[str, Any]]:
    """Return the receipt of each action that has one, by action, in one query; `occurrence` is selected with them.

    An absorbed action has the receipt of the effect that stands; what was learnt outside the log comes before it.
    """
    found: dict[int, dict[str, Any]] = {}
    places: dict[int, tuple[int, int]] = {}
    for action in actions:
        occurrence = action.occurrence
        if occurrence is not None and occurrence.receipt is not None:
            found[action.pk] = occurrence.receipt
        elif action.receipt_position is not None:
            places[action.pk] = (action.run_id, action.receipt_position)
        elif occurrence is not None and occurrence.receipt_position is not None:
            places[action.pk] = (occurrence.owner.run_id, occurrence.receipt_position)
    lines = _lines(set(places.values()))
    return found | {pk: lines[place]["receipt"] for pk, place in places.items() if place in lines}


SOURCES: dict[str, str] = {
    "run": "the tool's own answer",
    "lookup": "looked up afterwards",
    "person": "a person said so",
    "worker": "learnt from the worker later",
}


def sources(actions: Sequence[models.Action]) -> dict[int, str]:
    """Return how it is known that the effect of each action stands, in words, in one query.

    The tool's own answer is one line, the result; how others know it stands in the line before.
    """
    places: dict[int, tuple[int, int]] = {}
    for action in actions:
        done = action.occurrence
        if action.receipt_position is not None:
            places[action.pk] = (action.run_id, action.receipt_position - 1)
        elif done is not None and done.receipt_position is not None:  # absorbed
            places[action.pk] = (done.owner.run_id, done.receipt_position - 1)
    lines = _lines(set(places.values()))
    found = {}
    for pk, place in places.items():
        content = lines.get(place, {})
        source = str(content.get("source", "run")) if content.get("outcome") == "happened" else "run"
        found[pk] = SOURCES.get(source, source)
    return found | {
        action.pk: "learnt outside the run's log"
        for action in actions
        if action.occurrence is not None and action.occurrence.receipt is not None
    }


def arguments(actions: Sequence[models.Action], *, largest: int) -> dict[int, Any]:
    """Return the current arguments of the actions, by action, in two queries; left out where they are huge."""
    wanted = {action.pk: action for action in actions}
    first = {action.pk: (action.run_id, action.reply_position) for action in actions if action.revision == 1}
    lines = _lines(set(first.values()), largest=largest)
    found = {
        pk: _proposed(lines[place], wanted[pk].call_index) for pk, place in first.items() if place in lines
    }
    for action in actions:
        if action.revision > 1 or first[action.pk] in lines or tombstone.is_erased(action.run):
            continue
        if action.run.path:  # opened again at the cut
            found[action.pk] = action.arguments()
    later = [action.pk for action in actions if action.revision > 1]
    rows = models.Revision.objects.alias(size=Length("arguments")).filter(action__in=later, size__lte=largest)
    return found | {
        row.action_id: row.arguments for row in rows if row.number == wanted[row.action_id].revision
    }


def _proposed(line: Mapping[str, Any], index: int) -> Any:
    """Return the arguments in a reply, or in the line of its own that a person's undo has."""
    return line["calls"][index]["arguments"] if "calls" in line else line["arguments"]


def result_text(action: models.Action) -> str:
    """Return the sentence that closed the action's call, or nothing."""
    line = models.Entry.objects.filter(run_id=action.run_id, position=action.receipt_position or 0).first()
    return "" if line is None else str(line.content["receipt"].get("summary", ""))


def deadline(action: models.Action) -> datetime.datetime | None:
    """Return until when the last request could be sent."""
    call = [action.reply_position, action.call_index]
    lines = models.Entry.objects.filter(
        run_id=action.run_id, position__gt=action.reply_position, kind=lifecycle.EntryKind.INTENT
    ).order_by("-position")
    last = next(
        (line.content for line in lines.iterator(chunk_size=50) if line.content["call"] == call), None
    )
    return None if last is None else datetime.datetime.fromisoformat(last["deadline"])


def _lines(
    places: set[tuple[int, int]], *, largest: int | None = None
) -> dict[tuple[int, int], dict[str, Any]]:
    if not places:
        return {}
    wanted = Q()
    for run_id in {run_id for run_id, _ in places}:
        wanted |= Q(run_id=run_id, position__in=[position for run, position in places if run == run_id])
    rows = models.Entry.objects.filter(wanted)
    if largest is not None:
        rows = rows.alias(size=Length("content")).filter(size__lte=largest)
    found = {(row.run_id, row.position): row.content for row in rows.only("run_id", "position", "content")}
    return {place: content for place, content in found.items() if tombstone.digest_left(content) is None}
