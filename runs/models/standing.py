"""The steps of a run's plan as they stand: what is over, what has started, and where a step's open call is."""

from __future__ import annotations

from runs import lifecycle, plan_changes
from runs.models import paths
from runs.models.plan import PlanStep
from runs.models.run import Run


def of(run: Run) -> list[plan_changes.Standing]:
    """Return them in order. The number of queries is fixed."""
    rows = list(PlanStep.objects.filter(run=run).order_by("order"))
    actions = {(row.reply_position, row.call_index): row for row in paths.open_actions(run)}
    found = []
    for row in rows:
        ahead = row.state in {lifecycle.Step.PENDING, lifecycle.Step.ACTIVE}
        at = (row.reply_position, row.call_index) if row.state == lifecycle.Step.ACTIVE else None
        call = (at[0], at[1]) if at and at[0] is not None and at[1] is not None else None
        action = actions.get(call) if call else None
        found.append(
            plan_changes.Standing(
                id=row.key,
                definition={"id": row.key, "title": row.title, "body": row.body},
                state=row.state,
                ahead=ahead,
                locked=not ahead or (action is not None and action.attempt > 0),
                call=call,
                irreversible=action is not None and action.effect == "irreversible",
            )
        )
    return found
