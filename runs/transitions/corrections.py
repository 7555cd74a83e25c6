"""What a person corrects when a run goes on from a checkpoint: its input, and arguments of calls open there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import Q

from runs import exact, lifecycle, models, state
from runs.state import CallId
from runs.tools import registry
from runs.tools.contract import BadArguments
from runs.transitions import secret_names
from runs.transitions.cuts import Cut
from runs.transitions.refusals import Invalid

Kind = lifecycle.EntryKind
CALL_KINDS = (Kind.REPLY, Kind.CALL, Kind.REVISION, Kind.VERDICT, Kind.DECISION, Kind.INTENT, Kind.RECEIPT,
              Kind.RESULT)  # fmt: skip
"""The kinds of lines that make and move calls."""


def input_of(given: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
    """Return a corrected input as exact JSON, or None where it stays; refuse (Invalid) what isn't exact."""
    if given is None:
        return None
    try:
        value: Mapping[str, Any] = exact.stored(exact.canonical(dict(given)))
    except exact.NotExact as error:
        raise Invalid(str(error)) from error
    return value


def arguments_of(cut: Cut, given: Mapping[CallId, Any]) -> list[list[Any]]:
    """Return corrected arguments as [[reply position, call index, arguments]], validated by each call's tool.

    Refuses (Invalid) a call that isn't open at the cut, arguments that its tool doesn't take, and secrets that its
    agent may not have filled in there.
    """
    if not given:
        return []
    open_calls = {call.id: call for call in _open(cut, min(call[0] for call in given))}
    found = []
    for call_id, value in sorted(given.items()):
        call = open_calls.get(call_id)
        if call is None or call.is_control:
            raise Invalid(
                f"No call {call_id[1]} of line {call_id[0]} is open at that checkpoint, so there is nothing to correct."
            )
        if call.undo:
            raise Invalid("An undo takes back exactly what was done, so there is nothing to correct in it.")
        try:
            text = registry.get(call.tool).settled(exact.stored(exact.canonical(value)))
        except (registry.UnknownTool, BadArguments, exact.NotExact) as error:
            raise Invalid(str(error)) from error
        secret_names.check(exact.stored(text), run=cut.holder, tool=call.tool)
        found.append([*call_id, exact.stored(text)])
    return found


def _open(cut: Cut, first: int) -> tuple[state.CallState, ...]:
    """Return the calls that are open at the cut, from the lines since `first`, where their reply stands."""
    found = Q()
    for ancestor, last in cut.path:
        found |= Q(run=ancestor, position__lte=last)
    rows = models.Entry.objects.filter(found, position__gte=first, kind__in=CALL_KINDS).order_by("position")
    tail = [state.Entry(position=row.position, kind=row.kind, content=row.content) for row in rows]
    try:
        return state.fold(tail).open_calls()
    except state.Broken:  # the lines don't begin at a reply whose calls are open
        return ()
