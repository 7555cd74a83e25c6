"""The audit trail as a file, as the filters leave it: whole, read and written in chunks, safe in a spreadsheet."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from typing import Any

from runs import exact, models
from runs.selectors import audit_filters, audit_page, blind, exports

CHUNK = 500
TYPES = {"csv": "text/csv; charset=utf-8", "jsonl": "application/jsonl; charset=utf-8"}
EVENT = (
    "seq", "at", "actor", "on_behalf_of", "act", "subject", "run", "channel", "ip", "policy", "seen", "content",
    "previous", "hash",
)  # fmt: skip
REFUSAL = ("id", "at", "actor", "on_behalf_of", "act", "code", "reason", "subject", "run", "channel", "ip")


def name(params: Mapping[str, str], kind: str) -> str:
    """Return what the file is called."""
    return f"{'refused' if audit_filters.read(params).refused else 'audit'}.{kind}"


def written(params: Mapping[str, str], kind: str, *, unread: frozenset[int]) -> Iterator[bytes]:
    """Yield the file in chunks, the oldest line first, so that the chain can be followed as it is read.

    `unread` are the questions of which its reader may not know yet who approved them.
    """
    filters = audit_filters.read(params)
    columns = REFUSAL if filters.refused else EVENT
    if kind == "csv":
        yield ("\ufeff" + _line(columns)).encode()
    for chunk in _refusals(filters) if filters.refused else _events(filters, unread):
        if kind == "csv":
            text = "".join(_line([exports.safe(_cell(row[column])) for column in columns]) for row in chunk)
        else:
            text = "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in chunk)
        yield text.encode("utf-8", "replace")


def _events(filters: audit_filters.Filters, unread: frozenset[int]) -> Iterator[list[dict[str, Any]]]:
    """Yield the lines by key, so that a chunk costs the same wherever it is."""
    last = 0
    while True:
        rows = (
            audit_filters.events(filters, unread)
            .select_related(*audit_page.PEOPLE)
            .filter(seq__gt=last)
            .order_by("seq")
        )
        found = list(rows[:CHUNK])
        if not found:
            return
        last = found[-1].seq
        yield [_event(row) for row in blind.veiled(found, unread)]


def _event(row: models.AuditEvent) -> dict[str, Any]:
    return {
        "seq": row.seq,
        "at": row.at.isoformat(timespec="microseconds"),
        "actor": row.actor.get_username() if row.actor else None,
        "on_behalf_of": row.on_behalf_of.get_username() if row.on_behalf_of else None,
        "act": row.act,
        "subject": row.subject,
        "run": row.run_id,
        "channel": row.channel,
        "ip": row.ip,
        "policy": str(row.policy_version) if row.policy_version else None,
        "seen": row.seen,
        "content": row.content,
        "previous": row.previous,
        "hash": row.hash,
    }


def _refusals(filters: audit_filters.Filters) -> Iterator[list[dict[str, Any]]]:
    last = 0
    while True:
        rows = audit_filters.refusals(filters).select_related("actor", "on_behalf_of").filter(pk__gt=last)
        found = list(rows.order_by("pk")[:CHUNK])
        if not found:
            return
        last = found[-1].pk
        yield [
            {
                "id": row.pk,
                "at": row.at.isoformat(timespec="microseconds"),
                "actor": row.actor.get_username() if row.actor else None,
                "on_behalf_of": row.on_behalf_of.get_username() if row.on_behalf_of else None,
                "act": row.act,
                "code": row.code,
                "reason": row.reason,
                "subject": row.subject,
                "run": row.run_id,
                "channel": row.channel,
                "ip": row.ip,
            }
            for row in found
        ]


def _cell(value: Any) -> str:
    return (
        "" if value is None else exact.canonical(value, limit=None) if isinstance(value, dict) else str(value)
    )


def _line(cells: Any) -> str:
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL).writerow(cells)
    return out.getvalue()
