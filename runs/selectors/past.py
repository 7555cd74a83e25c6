"""The state of a run at a checkpoint, read from its log: what a fold of all lines gives, without reading them all.

Counters stand on the checkpoint, plans are rows of their own, and every call that is open was proposed by the last
reply or later. So what is read is the tail since that reply, and of all other lines only which step they moved.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from django.db.models import Max, TextField
from django.db.models.functions import Cast, Left

from runs import lifecycle, models, state
from runs.models import cuts
from runs.selectors import run_log

MOST = 3_000
"""Lines that are read to tell what became of calls; whoever asks for more is told that it is not all."""

BEGINNING = 4_000
_MOVES = (lifecycle.EntryKind.MARK, lifecycle.EntryKind.RESULT)


@dataclass(frozen=True, kw_only=True)
class Calls:
    """What lines tell about calls: each with its arguments as last revised, and what closed it."""

    calls: Mapping[state.CallId, state.CallState] = field(default_factory=dict)
    arguments: Mapping[state.CallId, Any] = field(default_factory=dict)
    results: Mapping[state.CallId, Mapping[str, Any]] = field(default_factory=dict)
    whole: bool = True  # False: only the beginning of what was asked for

    def open(self) -> tuple[state.CallState, ...]:
        """Return the calls that nothing has closed, in order."""
        return tuple(call for _, call in sorted(self.calls.items()) if not call.closed)


@dataclass(frozen=True, kw_only=True)
class Past:
    """The state at a checkpoint."""

    input: Mapping[str, Any]
    counters: state.Counters
    plan_version: int
    plan: tuple[state.PlanStep, ...]
    tail: Calls  # since the last reply


def at(cut: cuts.Cut) -> Past:
    """Return the state at a checkpoint."""
    reply = last_reply(cut)
    tail = calls(cut, after=reply - 1)
    version, plan = _plan(cut, {call.step for call in tail.open()})
    holder = cut.run if cut.holder == cut.run.pk else models.Run.objects.only("input").get(pk=cut.holder)
    return Past(
        input=holder.input,
        counters=counted(cut.line.counters),
        plan_version=version,
        plan=plan,
        tail=tail,
    )


def counted(stored: Sequence[Any] | Mapping[str, Any] | None) -> state.Counters:
    """Return the counters of a checkpoint, which stores their values in order, older ones with their names."""
    if isinstance(stored, Mapping):
        return state.Counters(**stored)
    names = (one.name for one in fields(state.Counters))
    return state.Counters(**dict(zip(names, stored or (), strict=False)))


def last_reply(cut: cuts.Cut, *, until: int | None = None) -> int:
    """Return the position of the last reply up to the checkpoint, or up to a position before it; 1 if there is none."""
    rows = cuts.lines(cut.path).filter(kind=lifecycle.EntryKind.REPLY)
    if until is not None:
        rows = rows.filter(position__lte=until)
    return int(rows.order_by().aggregate(last=Max("position"))["last"] or 1)


def calls(cut: cuts.Cut, *, after: int) -> Calls:
    """Return what the lines behind a position tell about the calls that were proposed there, at most `MOST` lines."""
    known: set[state.CallId] = set()
    arguments: dict[state.CallId, Any] = {}
    results: dict[state.CallId, Mapping[str, Any]] = {}
    kept: list[state.Entry] = []
    rows: list[Any] = list(run_log.cut(cuts.lines(cut.path, after=after))[: MOST + 1])
    whole = _whole([row for row in rows if row.size > run_log.SMALL and row.kind in _WITH_ARGUMENTS])
    for row in rows[:MOST]:
        line = run_log.line(row)
        content = whole.get(row.pk, line.content)
        if line.kind == lifecycle.EntryKind.REPLY:
            proposed = {(line.position, index): call for index, call in enumerate(content["calls"])}
            known |= proposed.keys()
            arguments |= {call: value["arguments"] for call, value in proposed.items()}
        elif line.call is None and "call" not in content:
            continue
        else:
            call: state.CallId = (content["call"][0], content["call"][1])
            if line.kind == lifecycle.EntryKind.CALL:
                known.add(call)
            elif call not in known:
                continue  # it was closed before, and is said of something else
            if "arguments" in content:
                arguments[call] = content["arguments"]
            if line.kind == lifecycle.EntryKind.RESULT:
                results[call] = content
        kept.append(state.Entry(position=line.position, kind=line.kind, content=_told(line.kind, content)))
    folded = state.fold(kept).calls
    return Calls(calls=folded, arguments=arguments, results=results, whole=len(rows) <= MOST)


_WITH_ARGUMENTS = (lifecycle.EntryKind.REPLY, lifecycle.EntryKind.CALL, lifecycle.EntryKind.REVISION)
_UNPAID = {"tokens_in": 0, "tokens_out": 0, "cost_micro": 0}


def _whole(rows: Iterable[Any]) -> dict[int, Any]:
    """Return the content of large lines that say what was asked for, in one query if there are any."""
    ids = [row.pk for row in rows]
    return dict(models.Entry.objects.filter(pk__in=ids).values_list("pk", "content")) if ids else {}


def _told(kind: str, content: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a line as it tells of calls alone; the plan and what was paid are read elsewhere."""
    if kind == lifecycle.EntryKind.REPLY:
        return {**content, "usage": _UNPAID}
    return {name: value for name, value in content.items() if name not in {"step_state", "value", "receipt"}}


def _plan(cut: cuts.Cut, open_steps: set[str | None]) -> tuple[int, tuple[state.PlanStep, ...]]:
    """Return the version of the plan in force and its steps, each as far as it was."""
    entered: dict[str, int] = {}
    row = None
    for row in models.Plan.objects.filter(cuts.on(cut.path)).order_by("position"):
        # A step that was taken out and put in again begins anew.
        entered = {step["id"]: entered.get(step["id"], row.position) for step in row.steps}
    if row is None:
        return 0, ()
    states = {step: value for step, (at, value) in _states(cut).items() if at > entered.get(step, at)}
    return row.version, tuple(
        state.PlanStep(
            id=step["id"],
            title=step["title"],
            body=step["body"],
            state=lifecycle.Step.ACTIVE
            if step["id"] in open_steps
            else states.get(step["id"], lifecycle.Step.PENDING),
        )
        for step in row.steps
    )


def _states(cut: cuts.Cut) -> dict[str, tuple[int, str]]:
    """Return the last state that a line gave each step, and where."""
    found: dict[str, tuple[int, str]] = {}
    text = Cast("content", TextField())
    rows = cuts.lines(cut.path).filter(kind__in=_MOVES)
    for pk, position, beginning in rows.annotate(beginning=Left(text, BEGINNING)).values_list(
        "pk", "position", "beginning"
    ):
        content = json.loads(beginning) if len(beginning) < BEGINNING else run_log.leading(beginning)
        if len(beginning) == BEGINNING and "text" not in content:  # what stands before its step is large
            content = models.Entry.objects.values_list("content", flat=True).get(pk=pk)
        value = content.get("step_state", content.get("state"))
        if content.get("step") and value:
            found[content["step"]] = (position, value)
    return found
