"""What the filters leave, as CSV and JSON: read and written in chunks, bounded, and safe to open in a spreadsheet."""

from __future__ import annotations

import csv
import datetime
import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

from django.db.models import Q

from runs import exact
from runs.selectors import cells, deciding, filters, inbox_rows, ledger, queue

MOST = 10_000
CHUNK = 200
Row = dict[str, Any]
WAITING = (
    "question", "kind", "tier", "effect", "tool", "agent", "run", "run_title", "step", "asked", "due", "overdue",
    "expires", "with", "arguments",
)  # fmt: skip
DECIDED = ("question", "kind", "tier", "effect", "tool", "verdict", "by", "at", "reason", "run", "run_title")


def columns(chosen: filters.Filters) -> tuple[str, ...]:
    """Return the columns of the tab, in their order."""
    return DECIDED if chosen.tab == filters.DECIDED else WAITING


def as_csv(viewer: deciding.Viewer, chosen: filters.Filters) -> Iterator[bytes]:
    """Yield the table in chunks; the last line says so where rows were left out."""
    names = columns(chosen)
    yield ("\ufeff" + _lines([names])).encode()
    for chunk in _chunks(viewer, chosen):
        yield _lines([[safe(row[name]) for name in names] for row in chunk]).encode("utf-8", "replace")
    if left := left_out(viewer, chosen):
        yield _lines([[f"{left} more rows are left out; narrow the filters"]]).encode()


def as_json(viewer: deciding.Viewer, chosen: filters.Filters) -> Iterator[bytes]:
    """Yield one object with the rows in chunks, what was asked for, and how many rows were left out."""
    yield f'{{"list": {json.dumps(chosen.query)}, "rows": ['.encode()
    first = True
    for chunk in _chunks(viewer, chosen):
        text = ",\n".join(json.dumps(row, default=_text) for row in chunk)
        yield (text if first else f",\n{text}").encode()
        first = False
    yield f'], "left_out": {left_out(viewer, chosen)}}}\n'.encode()


def left_out(viewer: deciding.Viewer, chosen: filters.Filters) -> int:
    """Return how many rows are beyond the bound."""
    every: int = _all(viewer, chosen).count()
    return max(0, every - MOST)


def safe(value: object) -> str:
    """Return a cell's text, which no spreadsheet computes."""
    return cells.safe("" if value is None else _text(value))


def _text(value: Any) -> str:
    return str(value.isoformat() if isinstance(value, datetime.datetime) else value)


def _lines(rows: Sequence[Sequence[str]]) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerows(rows)
    return out.getvalue()


def _all(viewer: deciding.Viewer, chosen: filters.Filters) -> Any:
    if chosen.tab == filters.DECIDED:
        return inbox_rows.decided(viewer, chosen)
    return inbox_rows.waiting(viewer, chosen)


def _chunks(viewer: deciding.Viewer, chosen: filters.Filters) -> Iterator[list[Row]]:
    """Yield the rows by key, so that a long list costs no more for each chunk than a short one."""
    decided = chosen.tab == filters.DECIDED
    rows = _all(viewer, chosen).order_by(*(("-id",) if decided else queue.ORDER))
    after = Q()
    for _ in range(MOST // CHUNK):
        found = list(rows.filter(after)[:CHUNK])
        if not found:
            return
        last = found[-1]
        if decided:
            yield [_decided(row) for row in found]
            after = Q(pk__lt=last.pk)
        else:
            yield _waiting(found, viewer)
            after = Q(due_at__gt=last.due_at) | Q(due_at=last.due_at, pk__gt=last.pk)


def _waiting(found: Sequence[Any], viewer: deciding.Viewer) -> list[Row]:
    held = ledger.arguments([row.action for row in found if row.action is not None], largest=inbox_rows.LARGE)
    return [
        {
            "question": line.review_id,
            "kind": line.kind,
            "tier": line.tier,
            "effect": line.effect,
            "tool": line.tool,
            "agent": line.agent,
            "run": line.run_id,
            "run_title": line.run_title,
            "step": line.step,
            "asked": line.waiting_since,
            "due": line.due_at,
            "overdue": line.overdue,
            "expires": line.expires_at,
            "with": line.handed.to if line.handed else "",
            "arguments": exact.text_of(held[row.action_id]) if row.action_id in held else "",
        }
        for row, line in zip(found, inbox_rows.of_reviews(found, viewer), strict=True)
    ]


def _decided(row: Any) -> Row:
    line = inbox_rows.of_decisions([row])[0]
    return {
        "question": line.review_id,
        "kind": line.kind,
        "tier": line.tier,
        "effect": line.effect,
        "tool": row.review.action.tool if row.review.action else "",
        "verdict": row.verdict,
        "by": line.by,
        "at": line.at,
        "reason": line.reason,
        "run": line.run_id,
        "run_title": line.run_title,
    }
