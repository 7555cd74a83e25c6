"""Ending a run: succeeded, failed or cancelled. None while an effect is in intent or in doubt."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from runs import exact, hints, lifecycle, models
from runs.models import paths, reversals
from runs.state import CallId
from runs.transitions import audit, clock_time, indexing, texts, words
from runs.transitions.actor import ENGINE
from runs.transitions.refusals import Changed
from runs.transitions.steps import closing
from runs.transitions.steps._statement import Claim, Work, fenced


def finish(claim: Claim, call: CallId, *, summary: str, result: Any, seen: int) -> None:
    """End the run as succeeded, with its typed result. Refuses Changed while anything is open or new."""
    with fenced(claim, "finish", seen=seen) as work:
        if paths.open_actions(work.run).exists():
            raise Changed("an action is open")
        closing.close(
            work, call, step=_step_of(work, call), status=lifecycle.Action.SUCCEEDED, text=summary, ran=False,
            value=result, boundary=None,
        )  # fmt: skip
        _end(work, lifecycle.Run.SUCCEEDED, {"summary": summary, "result": result})
        work.run.summary = texts.storable(summary)


def cancel(claim: Claim, *, open_calls: tuple[tuple[CallId, str | None, bool], ...], seen: int) -> None:
    """End the run as cancelled: open calls are closed in words, open reviews and unused approvals superseded."""
    with fenced(claim, "cancel", seen=seen) as work:
        _refuse_unsettled(work)
        who = work.run.stop_by.get_username() if work.run.stop_by else "ckptsite"
        _close_all(work, open_calls, words.stopped(who, work.run.stop_reason))
        _end(work, lifecycle.Run.CANCELLED, {"reason": work.run.stop_reason, "by": who})


def fail(
    claim: Claim,
    *,
    cause: str,
    detail: str,
    open_calls: tuple[tuple[CallId, str | None, bool], ...],
    seen: int,
    taken_back: tuple[int, ...] = (),
) -> None:
    """End the run as failed, with an owned failure review that says what can be done next.

    Where its plan has `taken_back` effects, trying on from here isn't one of these.
    """
    with fenced(claim, "fail", seen=seen) as work:
        _refuse_unsettled(work)
        # Failed, not refused: a retry proposes these steps again.
        _close_all(work, open_calls, words.ended(cause), step_state=lifecycle.Step.FAILED)
        _end(work, lifecycle.Run.FAILED, {"cause": cause, "detail": detail})
        run = work.run
        run.error = texts.storable(cause)
        review = models.Review.objects.create(
            run=run,
            kind=lifecycle.ReviewKind.FAILURE,
            status=lifecycle.Review.OPEN,
            digest=exact.link(run.pk, run.checkpoint_number, cause),
            title=texts.storable(f"Failed: {cause}", limit=300),
            content={"cause": cause, "detail": detail, "checkpoint": run.checkpoint_number}
            | ({reversals.TAKEN_BACK: list(taken_back)} if taken_back else {}),
            groups=["operator"],
            due_at=work.now + clock_time.seconds(settings.CKPTSITE["REVIEW_DUE"]),
        )
        indexing.review(review)
        work.inbox_changed = True


def _step_of(work: Work, call: CallId) -> str | None:
    row = models.PlanStep.objects.filter(run=work.run, reply_position=call[0], call_index=call[1]).first()
    return row.key if row else None


def _refuse_unsettled(work: Work) -> None:
    if models.Action.objects.filter(run=work.run, status__in=lifecycle.ACTION_UNSETTLED).exists():
        raise Changed("the outcome of an action is unknown")


def _close_all(
    work: Work,
    open_calls: tuple[tuple[CallId, str | None, bool], ...],
    text: str,
    *,
    step_state: str = lifecycle.Step.REFUSED,
) -> None:
    """Close every open call, and supersede what was asked or approved but not started."""
    asked = models.Review.objects.filter(run=work.run, status=lifecycle.Review.OPEN)
    # A contradiction outlives the run: somebody still has to look.
    closed = asked.exclude(kind=lifecycle.ReviewKind.FAILURE).update(
        status=lifecycle.Review.SUPERSEDED, closed_at=work.now
    )
    models.Review.objects.filter(
        run=work.run, status=lifecycle.Review.APPROVED, consumed_by__isnull=True
    ).update(status=lifecycle.Review.SUPERSEDED, closed_at=work.now)
    work.inbox_changed = work.inbox_changed or bool(closed)
    for call, step, is_effect in open_calls:
        if is_effect:
            action = work.action(call)
            work.move(action, lifecycle.Action.SUPERSEDED)
            closing.close_effect(
                work, action, status=action.status, text=text, ran=False, boundary=None, step_state=step_state
            )
        else:
            closing.close(
                work,
                call,
                step=step,
                status=lifecycle.Action.SUPERSEDED,
                text=text,
                ran=False,
                boundary=None,
                step_state=step_state,
            )


def _end(work: Work, status: str, content: dict[str, Any]) -> None:
    work.move_run(status)
    run = work.run
    run.reason, run.ended_at = "", work.now
    run.hold_by, run.remind_at = None, None
    work.release()  # what it counts towards common limits is told before the end, which is the last line
    work.log.append(lifecycle.EntryKind.END, {**content, "status": status}, boundary=lifecycle.Boundary.ENDED)
    if run.superseded_by_id is not None:
        hints.wake(run.superseded_by_id)  # it waited for this end
    audit.append(
        f"run.{status}",
        actor=ENGINE,
        run=run,
        subject=f"run {run.pk}",
        content={"position": run.position, "head": run.head, "checkpoint": run.checkpoint_number},
    )
