"""Two checkpoints as values that can be compared: plan, arguments, results, budget and effects, the latter by key.

What both have in common is left out: a call that was closed before their paths part is the same in both. A patch made
of these is one of the whole documents too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Max, Q, TextField
from django.db.models.functions import Cast, Left

from runs import lifecycle, models, state
from runs.models import cuts
from runs.selectors import ledger, past, tools

EFFECTS = 1_000


@dataclass(frozen=True, kw_only=True)
class Document:
    """The state at a checkpoint as one value. `whole`: nothing was left out for its size."""

    value: dict[str, Any]
    whole: bool
    labels: Mapping[str, str]  # of calls and effects, by key


def whole(cut: cuts.Cut) -> Document:
    """Return everything that makes up the state at a checkpoint."""
    return _documents([cut], after=0)[0]


def pair(one: cuts.Cut, other: cuts.Cut) -> tuple[Document, Document]:
    """Return both, without the calls that were closed before they part."""
    common = cuts.shared(one.path, other.path)
    first, second = _documents([one, other], after=past.last_reply(one, until=common) - 1)
    return first, second


def _documents(found: list[cuts.Cut], *, after: int) -> list[Document]:
    rows = _in_lineages(found)
    return [_document(cut, rows, after=after) for cut in found]


def _document(cut: cuts.Cut, rows: list[models.Occurrence], *, after: int) -> Document:
    was, calls = past.at(cut), past.calls(cut, after=after)
    known = _on_path(cut, rows)
    effects = [row for row in rows[:EFFECTS] if row.pk in known]
    titles = {step.id: step.title for step in was.plan}
    names = _names(calls)
    labels = {names[call.id]: titles.get(call.step or "", "") or call.tool for call in calls.calls.values()}
    value = {
        "input": dict(was.input),
        "plan": {
            "version": was.plan_version,
            "steps": [
                {"id": step.id, "title": step.title, "state": step.state, "body": dict(step.body)}
                for step in was.plan
            ],
        },
        "arguments": {
            names[call.id]: {"tool": call.tool, "step": call.step, "arguments": calls.arguments.get(call.id)}
            for call in calls.calls.values()
        },
        "results": {
            names[call.id]: _result(call, calls.results.get(call.id)) for call in calls.calls.values()
        },
        "budget": was.counters.as_json(),
        "effects": dict(_effects(effects)),
    }
    labels |= {row.key: what(row) for row in effects}
    return Document(value=value, whole=calls.whole and len(rows) <= EFFECTS, labels=labels)


def effects(cut: cuts.Cut) -> list[models.Occurrence]:
    """Return what was done on the path up to a checkpoint, newest first, as it is today."""
    rows = _in_lineages([cut])
    known = _on_path(cut, rows)
    return [row for row in rows[:EFFECTS] if row.pk in known]


_CALL = re.compile(r'"call":\[([0-9]+),([0-9]+)\]')
BEGINNING = 200
"""Characters of a result that surely have its call, which stands near its beginning."""


def _on_path(cut: cuts.Cut, rows: list[models.Occurrence]) -> set[int]:
    """Return those that an action on the path owns or absorbed; the queries don't grow with them.

    What was proposed before the last reply of an attempt was closed by then; of its last calls the results tell.
    """
    lasts = dict(cut.path)
    replies = cuts.lines(cut.path).filter(kind=lifecycle.EntryKind.REPLY).order_by()
    replied = dict(replies.values("run").annotate(last=Max("position")).values_list("run", "last"))
    behind = Q(pk__in=())
    for run, last in lasts.items():
        behind |= Q(run=run, position__gt=replied.get(run, 0), position__lte=last)
    results = models.Entry.objects.filter(behind, kind=lifecycle.EntryKind.RESULT)
    text = Left(Cast("content", TextField()), BEGINNING)
    closed = {
        (run, int(call[1]), int(call[2]))
        for run, beginning in results.annotate(beginning=text).values_list("run", "beginning")
        if (call := _CALL.search(beginning))
    }
    used = models.Action.objects.filter(
        occurrence__in=rows, run__in=lasts, identity_digest__in={row.identity_digest for row in rows}
    )
    return {
        number
        for number, run, reply, index in used.values_list("occurrence", "run", "reply_position", "call_index")
        if reply < replied.get(run, 0) or (run, reply, index) in closed
    }


def _in_lineages(found: list[cuts.Cut]) -> list[models.Occurrence]:
    """Return what was done in the lineages that the paths lead through, one more than is looked at."""
    ids = {run for cut in found for run, _ in cut.path}
    roots = set(models.Run.objects.filter(pk__in=ids).values_list("root_id", flat=True))
    rows = models.Occurrence.objects.filter(root__in=roots).exclude(state=lifecycle.Occurrence.VOID)
    return list(rows.select_related("owner").order_by("-pk")[: EFFECTS + 1])


def _names(calls: past.Calls) -> dict[state.CallId, str]:
    """Return the name of each call: its step, numbered where it was tried again, so that another attempt's is the same.

    A call without a step goes by the place of its reply, and its number in it.
    """
    tries: Counter[str] = Counter()
    found = {}
    for call_id, call in sorted(calls.calls.items()):
        if call.step:
            tries[call.step] += 1
        found[call_id] = (
            f"step {call.step} {tries[call.step]}" if call.step else f"call {call_id[0]}.{call_id[1]}"
        )
    return found


def what(row: models.Occurrence) -> str:
    """Return an effect in words."""
    return str((row.owner.preview or {}).get("summary") or tools.title(row.tool))


def _result(call: state.CallState, content: Mapping[str, Any] | None) -> dict[str, Any]:
    if content is None:
        return {"status": call.status}
    kept = {name: content[name] for name in ("text", "value", "receipt") if name in content}
    return {"status": call.status, **kept}


def _effects(rows: Iterable[models.Occurrence]) -> Iterable[tuple[str, Any]]:
    """Yield each effect by its key, as it is today: what is true of the world isn't kept with a checkpoint."""
    found = list(rows)
    owners = []
    for row in found:
        row.owner.occurrence = row
        owners.append(row.owner)
    receipts = ledger.receipts(owners)
    for row in found:
        receipt = receipts.get(row.owner_id)
        yield (
            row.key,
            {
                "tool": row.tool,
                "identity": row.identity,
                "state": row.state,
                "receipt": receipt,
            },
        )
