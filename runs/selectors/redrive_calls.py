"""The calls that are open at a checkpoint, with the arguments that they would be proposed with again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.db.models import Q

from runs import lifecycle, models, state
from runs.models import paths
from runs.selectors import plan_draft, plan_models, plan_rows, redrive_models, tools

Kind = lifecycle.EntryKind
KINDS = (Kind.REPLY, Kind.CALL, Kind.REVISION, Kind.VERDICT, Kind.DECISION, Kind.INTENT, Kind.RECEIPT,
         Kind.RESULT)  # fmt: skip
"""The kinds of lines that make and move calls."""


def open_at(
    run: models.Run, path: paths.Path, given: Mapping[str, Any]
) -> tuple[redrive_models.OpenCall, ...]:
    """Return the calls that are open where the path ends, as typed (`given`) or as they stand."""
    within = Q()
    for ancestor, last in path:
        within |= Q(run=ancestor, position__lte=last)
    lines = models.Entry.objects.filter(within)
    newest = lines.filter(kind=Kind.REPLY).order_by("-position").values_list("position", flat=True).first()
    if newest is None:
        return ()
    tail = list(lines.filter(position__gte=newest, kind__in=KINDS).order_by("position"))
    try:
        calls = state.fold(tail).open_calls()
    except state.Broken:
        return ()
    arguments = _arguments(tail)
    titles = dict(models.PlanStep.objects.filter(run=run).values_list("key", "title"))
    failed = set(
        models.Action.objects.filter(run=run, status=lifecycle.Action.FAILED).values_list(
            "reply_position", "call_index"
        )
    )
    found = []
    for call in calls:
        if call.is_control or call.undo:
            continue
        name = f"call.{call.id[0]}-{call.id[1]}"
        shown = plan_draft.pretty(arguments.get(call.id))
        found.append(
            redrive_models.OpenCall(
                name=name,
                title=titles.get(call.step or "", ""),
                tool=tools.title(call.tool),
                text=str(given.get(name, shown)),
                shown=shown,
                failed=call.id in failed,
                fields=_fields(name, call.tool, arguments.get(call.id), given),
            )
        )
    return tuple(found)


def _fields(name: str, tool_name: str, value: Any, given: Mapping[str, Any]) -> tuple[plan_models.Input, ...]:
    """Return a field for each argument that is a text which can be read as it is; the tool knows it by this name."""
    tool = tools.find(tool_name)
    known = tool.schema().get("properties", {}) if tool else {}
    if not isinstance(value, Mapping):
        return ()
    found = []
    for key in known:
        if isinstance(value.get(key), str) and plan_draft.plain(value[key]):
            one, field = plan_rows.argument(key, value[key], known[key]), f"{name}.{key}"
            found.append(replace(one, name=field, value=str(given.get(field, one.value))))
    return tuple(found)


def _arguments(tail: list[models.Entry]) -> dict[state.CallId, Any]:
    """Return the newest arguments of each call."""
    found: dict[state.CallId, Any] = {}
    for line in tail:
        content = line.content
        if line.kind == Kind.REPLY:
            found |= {(line.position, at): call["arguments"] for at, call in enumerate(content["calls"])}
        elif line.kind in {Kind.CALL, Kind.REVISION} and "arguments" in content:
            found[content["call"][0], content["call"][1]] = content["arguments"]
    return found
