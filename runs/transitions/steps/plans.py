"""New plan versions, written with the reply that asked for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import F

from runs import exact, lifecycle, models
from runs.state import CallId
from runs.transitions import texts
from runs.transitions.steps import closing
from runs.transitions.steps._statement import Work


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of plan: all steps anew, the step `replace` exchanged for `steps`, or the step `skip` skipped."""

    steps: tuple[Mapping[str, Any], ...] = ()
    replace: str | None = None
    skip: str | None = None
    reason: str = ""


def apply(work: Work, call: CallId, change: Change) -> None:
    """Write the change and close its control call."""
    if change.skip is not None:
        mark(work, change.skip, lifecycle.Step.SKIPPED)
        text = f"Step {change.skip} skipped."
    else:
        _version(work, change)
        text = f"Plan version {work.run.plan_version} saved."
    closing.close(
        work, call, step=None, status=lifecycle.Action.SUCCEEDED, text=text, ran=False, boundary=None
    )


def mark(work: Work, step: str, state: str) -> None:
    """Append the mark of one step's progress and move its projection."""
    work.log.append(lifecycle.EntryKind.MARK, {"step": step, "state": state})
    models.PlanStep.objects.filter(run=work.run, key=step).update(state=state)


def _version(work: Work, change: Change) -> None:
    run = work.run
    run.plan_version += 1
    steps = [{"id": raw["id"], "title": raw["title"], "body": raw["body"]} for raw in change.steps]
    line = work.log.append(
        lifecycle.EntryKind.PLAN,
        {
            "version": run.plan_version,
            "replace": change.replace,
            "steps": steps,
            "reason": change.reason,
            "author": None,
        },
    )
    _project(run, change.replace, steps)
    whole = [
        {"id": row.key, "title": row.title, "body": row.body}
        for row in models.PlanStep.objects.filter(run=run).order_by("order").only("key", "title", "body")
    ]
    models.Plan.objects.create(
        run=run,
        version=run.plan_version,
        steps=whole,
        digest=exact.digest_of(whole),
        reason=texts.storable(change.reason),
        position=line.position,
    )


def _project(run: models.Run, replaced: str | None, steps: list[dict[str, Any]]) -> None:
    """Bring the rows of the current plan up to date; steps keep their state by id."""
    rows = models.PlanStep.objects.filter(run=run)
    first = 0
    if replaced is not None:
        old = rows.get(key=replaced)
        first = old.order
        old.delete()
        rows.filter(order__gt=first).update(order=F("order") + len(steps) - 1)
    else:
        known = {row.key: row for row in rows}
        rows.delete()
        models.PlanStep.objects.bulk_create(
            _row(run, index, raw, known.get(raw["id"])) for index, raw in enumerate(steps)
        )
        return
    models.PlanStep.objects.bulk_create(
        _row(run, first + index, raw, None) for index, raw in enumerate(steps)
    )


def _row(
    run: models.Run, order: int, raw: Mapping[str, Any], known: models.PlanStep | None
) -> models.PlanStep:
    row = models.PlanStep(
        run=run,
        order=order,
        key=raw["id"],
        title=texts.storable(raw["title"], limit=300),
        group=str(raw["body"].get("group", "")),
        body=raw["body"],
    )
    if known is not None:
        row.state, row.reply_position = known.state, known.reply_position
        row.call_index, row.result_position = known.call_index, known.result_position
    return row
