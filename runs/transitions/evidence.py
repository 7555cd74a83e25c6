"""Late evidence: append-only and unfenced, so that a worker that lost its run may still say what it learnt."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from runs import exact, hints, lifecycle, models
from runs.transitions import audit, clock_time, inbox
from runs.transitions.actor import ENGINE
from runs.transitions.committing import committing


def append(
    action_id: int, *, attempt: int, outcome: str, source: str, content: dict[str, Any]
) -> models.Evidence:
    """Return the appended evidence about one attempt; the engine's next turn settles the action by it.

    Evidence against a settled occurrence changes no action: it marks the occurrence as contradicted, is audited, and
    opens a question, also when the run is closed.
    """
    run_id = models.Action.objects.values_list("run_id", flat=True).get(pk=action_id)
    with committing("evidence"):
        run = inbox.lock(run_id)
        action = models.Action.objects.select_for_update().get(pk=action_id)
        action.evidence_number += 1
        action.save(update_fields=["evidence_number"])
        row = models.Evidence.objects.create(
            action=action,
            number=action.evidence_number,
            attempt=attempt,
            outcome=outcome,
            source=source,
            content=content,
        )
        inbox.leave(run, models.Fact.Kind.EVIDENCE, {"evidence": row.pk}, by=None, mover="V")
        if action.status not in lifecycle.ACTION_UNSETTLED:
            _contradiction(run, action, row)
        hints.changed(run.pk, inbox=True)
        return row


def _contradiction(run: models.Run, action: models.Action, row: models.Evidence) -> None:
    if action.occurrence_id is None:
        return
    occurrence = models.Occurrence.objects.select_for_update(of=("self",)).get(pk=action.occurrence_id)
    before = occurrence.state
    if before == lifecycle.Occurrence.VOID and row.outcome == models.Evidence.Outcome.HAPPENED:
        occurrence.state = lifecycle.Occurrence.STANDING
        occurrence.receipt = row.content
    elif (
        before == lifecycle.Occurrence.STANDING
        and row.outcome == models.Evidence.Outcome.DID_NOT_HAPPEN
        and action.attempt <= 1
    ):
        occurrence.state = lifecycle.Occurrence.UNKNOWN
    else:
        return
    occurrence.contradicted = True
    occurrence.save(update_fields=["state", "receipt", "contradicted"])
    twice = row.outcome == models.Evidence.Outcome.HAPPENED
    models.Review.objects.create(
        run=run,
        kind=lifecycle.ReviewKind.FAILURE,
        status=lifecycle.Review.OPEN,
        digest=exact.link(occurrence.pk, row.pk),
        title=f"{action.tool} may have happened {'twice' if twice else 'not at all'}",
        content={
            "cause": f"Evidence about {action.tool} contradicts what was recorded: it was {before}.",
            "detail": str(row.content.get("summary", "")),
            "checkpoint": run.checkpoint_number,
        },
        groups=["operator"],
        due_at=clock_time.now() + clock_time.seconds(settings.CKPTSITE["REVIEW_DUE"]),
    )
    audit.append(
        "occurrence.contradicted",
        actor=ENGINE,
        run=run,
        subject=f"occurrence {occurrence.pk}",
        content={
            "before": before,
            "after": occurrence.state,
            "evidence": row.pk,
            "at": clock_time.now().isoformat(),
        },
    )
