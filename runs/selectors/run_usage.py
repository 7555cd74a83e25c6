"""What a run has used: turns, tool calls, and time."""

from __future__ import annotations

from django.db import connection
from django.db.models import Count, Q

from runs import lifecycle, models
from runs.selectors import deciding, now, run_header, run_limits, tools, usage_models

SIZE = 100
_RAN = Q(status__in=[lifecycle.Action.SUCCEEDED, lifecycle.Action.FAILED])
_WAITED = """
SELECT coalesce(sum(extract(epoch FROM upper(part) - lower(part))), 0)
FROM (
    SELECT unnest(range_agg(tstzrange(opened_at, greatest(opened_at, coalesce(closed_at, clock_timestamp()))))) AS part
    FROM runs_review WHERE run_id = %s AND kind <> 'failure'
) AS parts
"""


def page(run: models.Run, viewer: deciding.Viewer) -> usage_models.UsagePage:
    """Return what the run has used so far."""
    version = run.agent_version
    counted = list(
        models.Action.objects.filter(run=run)
        .values("tool")
        .annotate(ran=Count("pk", filter=_RAN))
        .filter(ran__gt=0)
        .order_by("tool")[:SIZE]
    )
    effects = sum(row["ran"] for row in counted)
    cost = now.dollars(run.cost_micro, known=run.cost_known)
    turns = usage_models.UsageRow(
        label=version.model or f"{version.provider} (no model)",
        calls=run.steps,
        tokens_in=run.tokens_in,
        tokens_out=run.tokens_out,
        seconds=None,
        cost=cost,
    )
    rows = [_row(tools.title(row["tool"]), row["ran"]) for row in counted]
    if run.calls > effects:
        rows.insert(0, _row("Looking things up", run.calls - effects))
    return usage_models.UsagePage(
        header=run_header.header(run, viewer, tab="run-usage"),
        limits=run_limits.lines(run),
        models=(turns,) if run.steps else (),
        tools=tuple(rows),
        waited_seconds=_waited(run),
        active_seconds=run.active_seconds,
    )


def _row(label: str, calls: int) -> usage_models.UsageRow:
    return usage_models.UsageRow(
        label=label, calls=calls, tokens_in=None, tokens_out=None, seconds=None, cost=None
    )


def _waited(run: models.Run) -> float:
    """Return for how many seconds at least one question of the run was open."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITED, [run.pk])
        row = cursor.fetchone()
    return float(row[0]) if row else 0.0
