"""What two attempts did outside since they part: each effect once, whoever did it, beside what was only tried out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from runs import lifecycle, models, state
from runs.models import cuts
from runs.selectors import documents, inspect_models, past, tools

KEPT, WOULD = "kept", "would"

Actions = Mapping[tuple[int, state.CallId], models.Action]
"""By the run that holds the reply, and the call."""


def actions(*found: tuple[cuts.Cut, past.Calls]) -> Actions:
    """Return the effects among these calls; one query."""
    runs = {run for end, _ in found for run, _ in end.path}
    replies = {reply for _, calls in found for reply, _ in calls.calls}
    rows = models.Action.objects.filter(run__in=runs, reply_position__in=replies)
    wanted = rows.only("run", "reply_position", "call_index", "tool", "identity_digest")
    return {(row.run_id, (row.reply_position, row.call_index)): row for row in wanted}


def effect(end: cuts.Cut, call: state.CallId, known: Actions) -> tuple[str, str] | None:
    """Return what makes a call the same effect in another attempt: its tool and identity. None: it reaches nothing.

    A call that was open where an attempt begins is its own once it is proposed again there.
    """
    holders = [run for run, _ in reversed(end.path)]
    row = next((known[run, call] for run in holders if (run, call) in known), None)
    return None if row is None else (row.tool, row.identity_digest)


def pairs(
    one: cuts.Cut, other: cuts.Cut, left: past.Calls, right: past.Calls, known: Actions
) -> Iterator[inspect_models.EffectPair]:
    """Yield what either did or would have done since they part, then what both kept of what was done before."""
    found: dict[tuple[str, str], list[inspect_models.EffectPair]] = {}
    kept = []
    for row, pair in _happened(one, other):
        if pair.before:
            kept.append(pair)
        else:
            found.setdefault((row.tool, row.identity_digest), []).append(pair)
    for side, end, calls in (("a", one, left), ("b", other, right)):
        mark: dict[str, Any] = {side: WOULD}
        for call_id, call in calls.calls.items():
            if call.status != lifecycle.Action.SIMULATED:
                continue
            beside = found.setdefault(effect(end, call_id, known) or (call.tool, str(call_id)), [])
            free = next((index for index, pair in enumerate(beside) if not getattr(pair, side)), None)
            if free is None:
                value = calls.results.get(call_id, {}).get("value") or {}
                what = str(value.get("summary") or tools.title(call.tool))
                beside.append(inspect_models.EffectPair(what=what, **mark))
            else:
                beside[free] = replace(beside[free], **mark)
    for beside in found.values():
        yield from beside
    yield from kept


def _happened(
    one: cuts.Cut, other: cuts.Cut
) -> Iterator[tuple[models.Occurrence, inspect_models.EffectPair]]:
    here = {row.key: row for row in documents.effects(one)}
    there = {row.key: row for row in documents.effects(other)}
    common = cuts.shared(one.path, other.path)
    for key, row in {**here, **there}.items():
        own = [_done_on(end.path, row) for end in (one, other)]
        if all(own) and _place(row) <= common:
            continue  # done before they parted
        sides: list[Any] = [
            "" if key not in known else row.state if mine else KEPT
            for known, mine in ((here, own[0]), (there, own[1]))
        ]
        yield (
            row,
            inspect_models.EffectPair(
                what=documents.what(row),
                a=sides[0],
                b=sides[1],
                before=0 if any(own) else row.owner.run_id,
                state=row.state,
            ),
        )


def _done_on(path: tuple[tuple[int, int], ...], row: models.Occurrence) -> bool:
    """Return whether a path leads through where it was done, or begun; what else is on a path was absorbed."""
    return _place(row) <= dict(path).get(row.owner.run_id, 0)


def _place(row: models.Occurrence) -> int:
    return row.receipt_position or row.owner.reply_position
