"""What the next reply refers to: results of earlier steps, read by their names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from runs import lifecycle, models, state
from runs.models import paths


def of(run: models.Run, names: Iterable[str]) -> dict[str, Any]:
    """Return the results that the next reply refers to: of a step by its id, of a loop as a summary of its rows."""
    found: dict[str, Any] = {}
    for name in names:
        row = models.PlanStep.objects.filter(run=run, key=name).first()
        if row is not None:
            found[name] = _value(run, row)
            continue
        rows = list(models.PlanStep.objects.filter(run=run, group=name).order_by("order"))
        found[name] = _group(run, rows)
    return found


def _group(run: models.Run, rows: list[models.PlanStep]) -> dict[str, Any]:
    by_state = {
        name: sum(row.state == name for row in rows) for name in ("done", "refused", "failed", "skipped")
    }
    closed = [_closed(run, row) for row in rows]
    return {
        "rows": [
            {"id": row.key, "title": row.title, "state": row.state, "result": state.value_of(content)}
            for row, content in zip(rows, closed, strict=True)
        ],
        "total": len(rows),
        **by_state,
        "kept": sum(content.get("status") == lifecycle.Action.ABSORBED for content in closed),
        "simulated": sum(content.get("status") == lifecycle.Action.SIMULATED for content in closed),
    }


def _value(run: models.Run, row: models.PlanStep) -> Any:
    return state.value_of(_closed(run, row))


def _closed(run: models.Run, row: models.PlanStep) -> Mapping[str, Any]:
    """Return what closed the step's call; empty where it isn't closed."""
    if row.result_position is None:
        return {}
    entry = models.Entry.objects.get(run=paths.holder(run, row.result_position), position=row.result_position)
    found: Mapping[str, Any] = entry.content
    return found
