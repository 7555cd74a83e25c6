"""Late evidence: append-only and unfenced, so that a worker that lost its run may still say what it learnt."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from runs import exact, hints, lifecycle, models
from runs.models import tombstone
from runs.transitions import absent, audit, clock_time, inbox, indexing, undoing
from runs.transitions.actor import ENGINE
from runs.transitions.committing import committing

State = lifecycle.Occurrence
LEFT = "evidence.left"


def append(
    action_id: int, *, attempt: int, outcome: str, source: str, content: dict[str, Any]
) -> models.Evidence:
    """Return the appended evidence about one attempt; the engine's next turn settles an open action by it.

    Evidence never changes an action that is settled. It settles what was given up as unknowable; and where it speaks
    against what was settled it marks the occurrence as contradicted, is audited, and opens a question. Both also when
    the run is closed.
    """
    run_id = models.Action.objects.values_list("run_id", flat=True).get(pk=action_id)
    with committing("evidence"):
        run = inbox.lock(run_id)
        return leave(run, action_id, attempt=attempt, outcome=outcome, source=source, content=content)


def leave(
    run: models.Run,
    action_id: int,
    *,
    attempt: int,
    outcome: str,
    source: str,
    content: dict[str, Any],
) -> models.Evidence:
    """Return the evidence as `append` does; the caller has locked the run, and commits."""
    action = models.Action.objects.select_for_update(no_key=True).get(pk=action_id)
    if tombstone.is_erased(run):  # there is nothing left that it could be compared to; the chain keeps it
        row = models.Evidence(action=action, attempt=attempt, outcome=outcome, source=source, content=content)
        late = {"attempt": attempt, "outcome": outcome, "source": source, "content": content}
        audit.append("evidence.too_late", actor=ENGINE, run=run, subject=f"action {action.pk}", content=late)
        return row
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
    compare(run, action, row)
    told = {"evidence": row.pk, "digest": digest(row)}
    audit.append(LEFT, actor=ENGINE, run=run, subject=f"action {action.pk}", content=told)
    hints.changed(run.pk, inbox=True)
    return row


def digest(row: models.Evidence) -> str:
    """Return the digest of what was learnt: the audit chain names it."""
    return exact.digest_of([row.action_id, row.number, row.attempt, row.outcome, row.source, row.content])


def compare(run: models.Run, action: models.Action, row: models.Evidence) -> None:
    """Compare the evidence to what is recorded, and move or mark the occurrence where they differ; each row once.

    The engine asks again when it reads the evidence: an answer that was left before it may have settled the action.
    """
    if action.occurrence_id is None:
        return
    occurrence = (
        models.Occurrence.objects.select_for_update(no_key=True, of=("self",))
        .select_related("owner")
        .get(pk=action.occurrence_id)
    )
    told = models.AuditEvent.objects.filter(run=run, subject=f"occurrence {occurrence.pk}")
    known = any(event.content.get("evidence") == row.pk for event in told)
    if occurrence.owner_id == action.pk and not known:
        _compare(run, action, occurrence, row)


def _compare(
    run: models.Run, action: models.Action, occurrence: models.Occurrence, row: models.Evidence
) -> None:
    happened = row.outcome == models.Evidence.Outcome.HAPPENED
    disproved = absent.attempts(action)
    nothing = not happened and disproved.union({row.attempt}).issuperset(range(1, action.attempt + 1))
    if action.status in lifecycle.ACTION_UNSETTLED:
        if (
            happened and row.attempt in disproved
        ):  # sent again after somebody said that this send didn't happen
            _contradicted(run, action, occurrence, row, occurrence.state)
    elif action.status in {lifecycle.Action.HELD, lifecycle.Action.APPROVED}:
        pass  # not sent again yet: the engine's next turn takes this for the outcome, and the approval is void
    elif occurrence.state == State.UNKNOWN and not occurrence.contradicted:
        if happened or nothing:
            _settled(run, occurrence, row, State.STANDING if happened else State.VOID)
    elif happened and occurrence.state == State.VOID:
        _contradicted(run, action, occurrence, row, State.STANDING)
    elif nothing and occurrence.state == State.STANDING:
        _contradicted(run, action, occurrence, row, State.UNKNOWN)
    elif happened and occurrence.state == State.STANDING and row.attempt in disproved:
        _contradicted(run, action, occurrence, row, State.STANDING)


def _move(occurrence: models.Occurrence, row: models.Evidence, new: str) -> None:
    before = occurrence.state
    if new != before:
        lifecycle.check(lifecycle.OCCURRENCE_MOVES, before, new, by="V")
        occurrence.state = new
        occurrence.settled_at = None if new == State.UNKNOWN else clock_time.now()
        if new == State.STANDING:
            occurrence.receipt = row.content
    occurrence.save(update_fields=["state", "receipt", "contradicted", "settled_at"])
    undoing.follow(occurrence, by="V")


def _settled(run: models.Run, occurrence: models.Occurrence, row: models.Evidence, new: str) -> None:
    """What was given up as unknowable is known now."""
    _move(occurrence, row, new)
    audit.append(
        "occurrence.settled",
        actor=ENGINE,
        run=run,
        subject=f"occurrence {occurrence.pk}",
        content={"before": State.UNKNOWN, "after": new, "evidence": row.pk},
    )


def _contradicted(
    run: models.Run, action: models.Action, occurrence: models.Occurrence, row: models.Evidence, new: str
) -> None:
    before = occurrence.state
    occurrence.contradicted = True
    review = _ask(run, action, occurrence, row)
    _move(occurrence, row, new)
    audit.append(
        "occurrence.contradicted",
        actor=ENGINE,
        run=run,
        subject=f"occurrence {occurrence.pk}",
        content={
            "before": before,
            # While the action is open, what comes of it is still for its own outcome to say.
            "after": "" if action.status in lifecycle.ACTION_UNSETTLED else new,
            "evidence": row.pk,
            "review": review.pk,
            "at": clock_time.now().isoformat(),
        },
    )


def _ask(
    run: models.Run, action: models.Action, occurrence: models.Occurrence, row: models.Evidence
) -> models.Review:
    """Return the question to somebody who can look: it may have happened twice, or not at all."""
    twice = row.outcome == models.Evidence.Outcome.HAPPENED
    review = models.Review.objects.create(
        run=run,
        kind=lifecycle.ReviewKind.FAILURE,
        status=lifecycle.Review.OPEN,
        digest=exact.link(occurrence.pk, row.pk),
        title=f"{action.tool} may have happened {'twice' if twice else 'not at all'}",
        content={
            "cause": f"Evidence about {action.tool} contradicts what was recorded: it was {occurrence.state}.",
            "detail": str(row.content.get("summary", "")),
            "checkpoint": run.checkpoint_number,
            "contradiction": occurrence.pk,
        },
        groups=["operator"],
        due_at=clock_time.now() + clock_time.seconds(settings.CKPTSITE["REVIEW_DUE"]),
    )
    indexing.review(review)
    return review
