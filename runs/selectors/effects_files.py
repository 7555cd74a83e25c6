"""The effects of all runs as a file: CSV for people who count, JSON for programs."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from runs import exact
from runs.selectors import cells, deciding, effects_ledger

MOST = 5_000
TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json"}
COLUMNS = (
    "number", "at", "state", "contradicted", "what", "where", "tool", "tier", "agent", "run_id", "run_title", "sends",
    "key", "digest", "outcome", "known", "verification", "undo_run", "receipt",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Saved:
    """A file."""

    name: str
    content_type: str
    text: str


def saved(viewer: deciding.Viewer, params: Mapping[str, str], kind: str) -> Saved:
    """Return the newest effects that fit the filters, at most `MOST` of them."""
    found = effects_ledger.fitting(viewer, effects_ledger.read(params))
    rows = [_flat(row) for row in effects_ledger.rows(list(found.order_by("-pk")[:MOST]))]
    text = exact.canonical(rows, limit=None) if kind == "json" else _csv(rows)
    return Saved(name=f"effects.{kind}", content_type=TYPES[kind], text=text)


def _flat(row: effects_ledger.Row) -> dict[str, Any]:
    files = [{"name": file.name, "sha256": file.sha256, "size": file.size} for file in row.files]
    return {**asdict(row), "at": row.at.isoformat(), "files": files}


def _csv(rows: list[dict[str, Any]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(COLUMNS)
    for row in rows:
        writer.writerow([_cell(row[name]) for name in COLUMNS])
    return out.getvalue()


def _cell(value: Any) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return cells.safe("" if value is None else str(value)).encode("utf-8", "replace").decode()
