"""Where on a run's path its input was first used, and what was made of it: what a correction has to come before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import TextField
from django.db.models.functions import Cast

from runs import exact, lifecycle, models
from runs.models import paths

_INPUT = re.compile(r"\binput\b")
_TEMPLATE = re.compile(r"\$\{[^}]*\binput\b")


def first_use(run: models.Run) -> int | None:
    """Return the position of the first reply that used the newest input on the path; None where none has yet.

    A model reads the input before each reply. A playbook uses it in the steps whose templates and expressions name it.
    """
    steps = _steps(run) if run.agent_version.provider == "playbook" else None
    replies = _lines(run, lifecycle.EntryKind.REPLY, after=_given(run))
    return next((line.position for line in replies if _uses(line, steps)), None)


def _given(run: models.Run) -> int:
    """Return the position of the newest input on the path."""
    for ancestor, last in reversed(_path(run)):
        rows = models.Entry.objects.filter(
            run=ancestor,
            position__lte=last,
            kind__in=(lifecycle.EntryKind.INPUT, lifecycle.EntryKind.CORRECTION),
        )
        newest = rows.order_by("-position").values_list("position", flat=True).first()
        if newest is not None:
            return newest
    return 0


def made_of_it(run: models.Run, *, after: int, until: int) -> tuple[str, ...]:
    """Return the steps whose results were made of the input between two positions, and so keep the old one."""
    titles = dict(models.PlanStep.objects.filter(run=run).values_list("key", "title"))
    found = [
        titles.get(str(line.content["step"]), str(line.content["step"]))
        for line in _lines(run, lifecycle.EntryKind.RESULT, after=after, until=until, having='"step":"')
        if line.content.get("step")
    ]
    return tuple(dict.fromkeys(found))


def _path(run: models.Run) -> list[tuple[int, int]]:
    return [(int(ancestor), int(last)) for ancestor, last in [*run.path, [run.pk, run.position]]]


def _lines(
    run: models.Run, kind: str, *, after: int, until: int | None = None, having: str = ""
) -> Iterator[models.Entry]:
    """Give the lines of one kind on the path between two positions, as they are asked for; of those `having` a text."""
    for ancestor, last in _path(run):
        end = last if until is None else min(last, until)
        rows = models.Entry.objects.filter(run=ancestor, position__gt=after, position__lte=end, kind=kind)
        if having:
            rows = rows.alias(text=Cast("content", TextField())).filter(text__contains=having)
        yield from rows.order_by("position").iterator(500)


def _steps(run: models.Run) -> Mapping[str, Any]:
    """Return the playbook's steps by their ids, those of loops also by their rows', and by no id what the plan used."""
    definition = run.agent_version.definition.get("steps", ())
    titled = any(_TEMPLATE.search(str(step.get("title", ""))) for step in definition)
    found = {str(step["id"]): step for step in definition} | {"": "input" if titled else ""}
    rows = models.PlanStep.objects.filter(run=run, group__in=found).values_list("key", "group")
    return found | {key: found[group] for key, group in rows if group}


def _uses(line: models.Entry, steps: Mapping[str, Any] | None) -> bool:
    if steps is None:
        return True
    for name in {str(call.get("step") or "") for call in line.content["calls"]}:
        body = steps.get(name, "input")  # a step that a person wrote: better too early than too late
        if _INPUT.search(exact.canonical(body, limit=None)):
            return True
    return False


def before(run: models.Run, position: int | None) -> int | None:
    """Return the number of the newest checkpoint on the path before `position`."""
    if position is None:
        return None
    rows = paths.checkpoints(run).filter(position__lt=position).order_by("-position")
    return rows.values_list("number", flat=True).first()
