"""Checkpoints in words that tell them apart: why each was made, and by the step or tool of which line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast, Left

from runs import lifecycle, models
from runs.selectors import run_labels, run_log, tools, words
from runs.state import CallId

BEGINNING = 2_000
REPLY = 20_000
"""Characters that are read of a line, and of a reply, to learn which call it is about."""
SHOWN = 80

Held = tuple[int, CallId]
Step = tuple[int, str]


def of(rows: Iterable[models.Entry]) -> dict[int, str]:
    """Return the words of checkpoints by the id of their line; at most four queries, however many they are."""
    found = {row.pk: row for row in rows}
    steps: dict[int, Step] = {}
    calls: dict[int, Held] = {}
    for line in _beginnings(models.Entry.objects.filter(pk__in=found), BEGINNING):
        call, step = line.content.get("call"), line.content.get("step")
        if isinstance(step, str):
            steps[line.pk] = (line.run, step)
        if isinstance(call, list) and len(call) == 2:
            calls[line.pk] = (line.run, (call[0], call[1]))
    known = _called(set(calls.values()))
    told = {pk: known[held] for pk, held in calls.items() if held in known}
    for pk, (step, _) in told.items():
        if step:
            steps.setdefault(pk, (calls[pk][0], step))
    titles = _titles(set(steps.values()))
    return {
        pk: _words(row, titles.get(steps[pk], "") if pk in steps else "", told.get(pk))
        for pk, row in found.items()
    }


def _words(row: models.Entry, title: str, told: tuple[str, str] | None) -> str:
    why, tool = words.BOUNDARIES.get(row.boundary or "", row.boundary or ""), told[1] if told else ""
    if row.boundary == lifecycle.Boundary.CREATED and row.kind != lifecycle.EntryKind.INPUT:
        return f"{why} of run {row.run_id}"  # an attempt that begins at a checkpoint has the first one's start too
    if row.boundary == lifecycle.Boundary.PLANNED:
        return why
    what = title or run_labels.CONTROLS.get(tool) or (tools.title(tool) if tool else "")
    return f"{why}: {tools.short(what, SHOWN)}" if what else why


def _called(held: set[Held]) -> Mapping[Held, tuple[str, str]]:
    """Return step and tool of calls: an action knows both; of what reaches nothing outside the reply tells."""
    if not held:
        return {}
    rows = models.Action.objects.filter(
        run__in={run for run, _ in held}, reply_position__in={call[0] for _, call in held}
    )
    found = {
        (run, (reply, index)): (step, tool)
        for run, reply, index, step, tool in rows.values_list(
            "run", "reply_position", "call_index", "step", "tool"
        )
    }
    missing = {(run, call[0]) for run, call in held if (run, call) not in found}
    if missing:
        replies = models.Entry.objects.filter(
            run__in={run for run, _ in missing},
            position__in={place for _, place in missing},
            kind=lifecycle.EntryKind.REPLY,
        )
        for line in _beginnings(replies, REPLY):
            for index, call in enumerate(line.content.get("calls", [])):
                key = (line.run, (line.position, index))
                found.setdefault(key, (str(call.get("step") or ""), str(call.get("tool") or "")))
    return found


def _titles(steps: set[Step]) -> Mapping[Step, str]:
    if not steps:
        return {}
    runs, keys = {run for run, _ in steps}, {key for _, key in steps}
    rows = models.PlanStep.objects.filter(run__in=runs, key__in=keys)
    return {(run, key): title for run, key, title in rows.values_list("run", "key", "title")}


class _Line(NamedTuple):
    pk: int
    run: int
    position: int
    content: Mapping[str, Any]


def _beginnings(rows: QuerySet[models.Entry], size: int) -> Iterator[_Line]:
    """Yield lines with what stands whole in their beginnings."""
    beginning = Left(Cast("content", TextField()), size)
    found = rows.order_by().annotate(beginning=beginning)
    for pk, run, position, text in found.values_list("pk", "run", "position", "beginning"):
        yield _Line(pk, run, position, run_log.leading(text))
