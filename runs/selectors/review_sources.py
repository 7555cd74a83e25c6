"""Where the values of an action's arguments came from, as far as the run's log tells: evidence to look at, no proof.

A value is followed to the first line on the run's path that held it: the input, a tool's result, what a person said or
typed, or the plan. One that stands nowhere was written by the agent, and so was one that stood in a call of its own
before anything else said it: a tool that repeats what it was given is no source.
"""

from __future__ import annotations

import functools
import json
import operator
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from django.db.models import Q, TextField
from django.db.models.functions import Cast, Length

from runs import exact, lifecycle, models
from runs.selectors import check_models, tools

KINDS = (
    lifecycle.EntryKind.INPUT,
    lifecycle.EntryKind.CORRECTION,
    lifecycle.EntryKind.RESULT,
    lifecycle.EntryKind.MESSAGE,
    lifecycle.EntryKind.PLAN,
    lifecycle.EntryKind.REPLY,
)
LEAVES = 24
"""So many values are followed, the first ones in the arguments' order."""
LINES = 40
LONGEST = 300_000
"""Longest line that is read, in characters; what a larger one held isn't found."""
SHORTEST = 3
"""A shorter text, or a number of one digit, stands everywhere and proves nothing."""
_WITHIN = 8
"""From this length on a text is also looked for within longer ones."""

_QUOTED = 110
"""So many characters before and after a value are quoted where it stood within words."""
_SHOWN = 12
"""So many values of a row are shown."""
_Row = tuple[int, str]


@dataclass(frozen=True, kw_only=True)
class _Held:
    """One line that may hold a value, with every value in it and its place."""

    position: int
    kind: str
    content: Mapping[str, Any]
    values: Mapping[str, tuple[str, ...]]  # canonical text of a value -> its places, in order
    rows: Mapping[str, str]  # place of what holds some values -> those, in one line


def sources(
    run: models.Run,
    action: models.Action | None,
    arguments: Mapping[str, Any],
    changes: tuple[check_models.Change, ...],
) -> tuple[check_models.Source, ...]:
    """Return one source for each value that says enough to be followed."""
    if action is None or action.undo_of_id is not None:
        return ()
    leaves = [(place, value) for place, value in _leaves("", arguments) if _telling(value)][:LEAVES]
    typed = {row.label: change.by for change in changes for row in change.rows}
    first = {row.label: row.before for change in reversed(changes) for row in change.rows}
    before = {place: first.get(place.replace(", ", ".")) for place, _ in leaves}
    wanted = [value if before[place] is None else before[place] for place, value in leaves]
    held = _held(run, action, [value for value in wanted if _telling(value)])
    titles = _titles(action.run_id, held)
    common = _common(wanted, held)
    return tuple(
        _source(place, value, held, titles, common)
        if before[place] is None
        else _changed(place, before[place], typed[place.replace(", ", ".")], held, titles, common)
        for place, value in leaves
    )


def _changed(
    place: str, old: Any, by: str, held: list[_Held], titles: Mapping[str, str], common: Counter[_Row]
) -> check_models.Source:
    """Return who changed a value, and where what it was still stands: in the input, or in what was read."""
    source = _source(place, old, held, titles, common)
    still = f"{source.words} still holds “{old}”" if source.kind in {"input", "result"} else ""
    return replace(source, kind="person", words=f"{by}, who changed it", still=still)


def _common(values: list[Any], held: list[_Held]) -> Counter[_Row]:
    """Return for each row of the stored data how many of these values stand in it."""
    found: Counter[_Row] = Counter()
    for text in {exact.canonical(value, limit=None) for value in values}:
        for line in held:
            found.update({(line.position, _around(place)) for place in line.values.get(text, ())})
    return found


def _around(place: str) -> str:
    """Return the place of what holds the value: "rows 20" of "rows 20, email"."""
    return place.rpartition(", ")[0]


def _source(
    place: str, value: Any, held: list[_Held], titles: Mapping[str, str], common: Counter[_Row]
) -> check_models.Source:
    text = exact.canonical(value, limit=None)
    for line in held:
        if text in line.values:
            # The row that most of the call's other values stand in; else the first.
            where = max(line.values[text], key=lambda found: common[line.position, _around(found)])
            return _found(place, line, titles, where=where, part=False)
    if isinstance(value, str) and len(value) >= _WITHIN:
        inner = text[1:-1]
        for line in held:
            found = next(((other, where[0]) for other, where in line.values.items() if inner in other), None)
            if found is not None:
                source = _found(place, line, titles, where=found[1], part=True)
                told = _quote(json.loads(found[0]), value) if source.kind == "result" else ""
                return replace(source, quote=told)
    return check_models.Source(place=place, kind="agent", words="written by the agent")


def _quote(text: Any, value: str) -> str:
    """Return the words around a value in a text that a tool has read: they may be meant for the agent."""
    before, here, after = str(text).partition(value)
    before, after = " ".join(before[-_QUOTED:].split()), " ".join(after[:_QUOTED].split())
    return f"{before} {here}{'' if after[:1] in '.,;:!?)' else ' '}{after}".strip()


def _found(
    place: str, line: _Held, titles: Mapping[str, str], *, where: str, part: bool
) -> check_models.Source:
    match line.kind:
        case lifecycle.EntryKind.INPUT:
            kind, words = "input", "the run's input"
        case lifecycle.EntryKind.CORRECTION:
            kind, words = "input", "the corrected input"
        case lifecycle.EntryKind.PLAN:
            author = line.content.get("author")
            kind, words = "plan", f"the plan as {author} changed it" if author else "the agent's plan"
            where = ""
        case lifecycle.EntryKind.REPLY:
            kind, words, where = "agent", "written by the agent, in an earlier call", ""
        case lifecycle.EntryKind.MESSAGE if line.content.get("code") == "repair":
            kind, words, where = "agent", "written by the agent, in a reply that could not be used", ""
        case lifecycle.EntryKind.MESSAGE:
            kind, words, where = "message", "what a person wrote", ""
        case _:
            title = titles.get(str(line.content.get("step")))
            kind, words = "result", f"“{title}”" if title else "a tool's result"
    at = f": {where}" if where else ""
    row = line.rows.get(_around(where), "")
    return check_models.Source(
        place=place, kind=kind, words=f"{words}{at}", position=line.position, part=part, row=row
    )


def _held(run: models.Run, action: models.Action, values: list[Any]) -> list[_Held]:
    """Return the lines before the proposal that hold one of the values, oldest first."""
    if not values:
        return []
    path = Q(run=run.pk)
    for ancestor, last in run.path:
        path |= Q(run=ancestor, position__lte=last)
    wanted = [Q(raw__contains=exact.canonical(value, limit=None).strip('"')) for value in values]
    rows = (
        models.Entry.objects.filter(path, kind__in=KINDS, position__lt=action.reply_position)
        .alias(raw=Cast("content", TextField()))
        .alias(size=Length("raw"))
        .filter(functools.reduce(operator.or_, wanted), size__lte=LONGEST)
        .order_by("position")
        .values_list("position", "kind", "content")[:LINES]
    )
    return [_line(position, kind, content) for position, kind, content in rows]


def _line(position: int, kind: str, content: Mapping[str, Any]) -> _Held:
    places: dict[str, list[str]] = defaultdict(list)
    rows: dict[str, list[str]] = defaultdict(list)
    for place, text in _texts(kind, content):
        places[text].append(place)
        row, _, name = place.rpartition(", ")
        if row and row[-1].isdigit():
            rows[row].append(f"{name}: {tools.short(text.strip(chr(34)), 60)}")
    return _Held(
        position=position,
        kind=kind,
        content=content,
        values={text: tuple(found) for text, found in places.items()},
        rows={row: " · ".join(found[:_SHOWN]) for row, found in rows.items()},
    )


def _texts(kind: str, content: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Return each value of a line that counts as said there, with its place."""
    names = {
        lifecycle.EntryKind.RESULT: ("value", "text"),
        lifecycle.EntryKind.PLAN: ("steps",),
        lifecycle.EntryKind.MESSAGE: ("text", "content"),
    }.get(lifecycle.EntryKind(kind), ("input",))
    if kind == lifecycle.EntryKind.REPLY:  # a new plan has a line of its own, with its author
        calls = [call for call in content.get("calls", ()) if call.get("tool") != "plan"]
        said: list[Any] = [call.get("arguments") for call in calls]
    else:
        said = [content.get(name) for name in names]
    for part in said:
        for place, value in _leaves("", part):
            yield place, exact.canonical(value, limit=None)


def _leaves(place: str, value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _leaves(f"{place}, {name}" if place else str(name), inner)
    elif isinstance(value, list):
        for number, inner in enumerate(value, start=1):
            yield from _leaves(f"{place} {number}".strip(), inner)
    else:
        yield place, value


def _telling(value: Any) -> bool:
    if isinstance(value, str):
        return len(value.strip()) >= SHORTEST
    return isinstance(value, int | float) and not isinstance(value, bool) and len(json.dumps(value)) > 1


def _titles(run_id: int, held: list[_Held]) -> dict[str, str]:
    keys = {str(line.content["step"]) for line in held if line.content.get("step")}
    rows = models.PlanStep.objects.filter(run=run_id, key__in=keys).values_list("key", "title")
    return {key: tools.short(title) for key, title in rows} if keys else {}
