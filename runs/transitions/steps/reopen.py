"""The first commit of a run that goes on from a checkpoint: its plan's rows, and the calls that were open there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs import lifecycle, models
from runs.state import CallId, PlanStep
from runs.transitions import texts
from runs.transitions.steps import plans, reply, undos
from runs.transitions.steps._statement import Claim, fenced


@dataclass(frozen=True, kw_only=True)
class Progress:
    """One step of the plan at the cut, and the calls and results that the path's log names for it."""

    step: PlanStep
    called: CallId | None
    closed: int | None


@dataclass(frozen=True, kw_only=True)
class Opened:
    """A call that was open at the cut, checked anew as it was proposed; `corrected` is a person's version of it."""

    call: CallId
    proposed: reply.Proposed
    corrected: reply.Proposed | None = None


def reopen(
    claim: Claim,
    *,
    plan: tuple[Progress, ...],
    calls: tuple[Opened, ...],
    policy_version: int | None,
    first: tuple[undos.Checked, ...] = (),
    last: Mapping[str, Any] | None = None,
    titles: Mapping[str, str] | None = None,
) -> None:
    """Build the run's projections and propose the open calls as its own. Refuses LostAuthority.

    What is to be taken back `first` goes before them, so that none of them is absorbed by it. A run that has nothing
    else to do ends with `last`. With other `titles` of steps the corrected plan is a version of its own.
    """
    with fenced(claim, "reopen") as work:
        run = work.run
        if run.begun:
            return
        models.PlanStep.objects.bulk_create(
            models.PlanStep(
                run=run,
                order=order,
                key=item.step.id,
                title=texts.storable(item.step.title, limit=300),
                group=item.step.group,
                body=item.step.body,
                state=item.step.state,
                reply_position=item.called[0] if item.called else None,
                call_index=item.called[1] if item.called else None,
                result_position=item.closed,
            )
            for order, item in enumerate(plan)
        )
        for item in plan:
            if item.step.state == lifecycle.Step.FAILED:  # a failure behind the cut is tried again
                plans.mark(work, item.step.id, lifecycle.Step.PENDING)
        if titles:
            whole = [
                step | {"title": titles.get(step["id"], step["title"])} for step in plans.definitions(run)
            ]
            change = plans.Change(steps=tuple(whole), reason="The input was corrected.")
            plans.write(run, work.log, change, author=run.created_by)
        for checked in first:
            undos.propose(work, checked)
        for opened in calls:
            content: Mapping[str, Any] = {"call": list(opened.call), **reply.described(opened.proposed)}
            work.log.append(lifecycle.EntryKind.CALL, content)
            reply.propose(work, opened.call, opened.proposed, policy_version, corrected=opened.corrected)
        if last is not None:
            undos.end(work, last)
        work.log.append(lifecycle.EntryKind.NOTE, {"code": "begun"})
        if work.closed_effect:
            work.log.checkpoint(lifecycle.Boundary.RESULT)
        run.begun = True
