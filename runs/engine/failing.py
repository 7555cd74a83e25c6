"""What follows from a step that failed: the run fails, and before that what its plan marks is taken back.

Marked are the steps that say `compensate`; the newest goes first. Each is an undo as a person would ask for it: an
action of its own under policy, with intent, receipt and key. What is refused, fails or can't be known doesn't hold up
the others; then the run fails as it would have.
"""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import TextField
from django.db.models.functions import Cast

from runs import lifecycle, models, planner, state
from runs.models import paths, reversals
from runs.tools import registry

LOOKED_AT = 32
_MARK = '"compensate":true'  # as it stands in the stored text
_DONE = (lifecycle.Action.SUCCEEDED, lifecycle.Action.ABSORBED)


def step(run: models.Run) -> str:
    """Return one sentence about a required step that failed, or nothing."""
    if not run.plan_version:
        return ""
    for row in models.PlanStep.objects.filter(run=run, state=lifecycle.Step.FAILED).order_by("order")[
        :LOOKED_AT
    ]:
        found = state.PlanStep(id=row.key, title=row.title, body=row.body, state=row.state)
        if found.required:
            position = row.result_position or 0
            entry = models.Entry.objects.filter(run=paths.holder(run, position), position=position).first()
            text = str(entry.content["text"]) if entry else "no reason was stored"
            return f"“{row.title}” failed: {text.removeprefix('Failed: ').removeprefix('Not done: ')}"
    return ""


def compensation(run: models.Run) -> planner.Compensation | None:
    """Return what the failed plan takes back next, None where its steps say nothing of it."""
    done_steps = models.PlanStep.objects.filter(run=run, state=lifecycle.Step.DONE)
    marked = done_steps.alias(said=Cast("body", TextField())).filter(said__contains=_MARK)
    rows = [row for row in marked.order_by("-reply_position", "-call_index") if row.body.get("compensate")]
    if not rows or run.mode != models.Run.Mode.LIVE:
        return None
    asked = reversals.by_plan(run)
    done = tuple(number for number, found in asked.items() if found != lifecycle.Occurrence.STANDING)
    known = _standing(run, {(row.reply_position, row.call_index) for row in rows})
    following = next((occurrence for occurrence in known if occurrence not in asked), None)
    return planner.Compensation(next=following, done=done)


def _standing(run: models.Run, calls: Collection[tuple[int | None, int | None]]) -> list[int]:
    """Return what these calls did, as far as it stands and can be taken back, the newest first."""
    actions = models.Action.objects.filter(
        run__in=[run.pk, *(ancestor for ancestor, _ in run.path)],
        reply_position__in=[position for position, _ in calls],
        status__in=_DONE,
        occurrence__state=lifecycle.Occurrence.STANDING,
        occurrence__first_sent_at__isnull=False,  # what was done by hand is taken back by hand
    )
    return [
        action.occurrence_id
        for action in actions.order_by("-reply_position", "-call_index")
        if action.occurrence_id is not None
        and (action.reply_position, action.call_index) in calls
        and action.run_id == paths.holder(run, action.reply_position)
        and registry.undo_of(action.tool) is not None
    ]
