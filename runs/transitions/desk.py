"""What people do with a question besides answering it: put it off for themselves, or hand it to somebody.

Neither moves its deadlines nor what its run does, and neither keeps anybody else from answering it.
"""

from __future__ import annotations

from runs import hints, lifecycle, models, rights
from runs.models import desk, scopes
from runs.transitions import attempts, audit, clock_time, decisions, inbox, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale


@attempts.noted("review.snooze", "review {}")
def snooze(review_id: int, span: str, *, by: Actor) -> models.Snooze:
    """Return the person's snooze of this question, which replaces their earlier one.

    Refuses NotYours where they couldn't answer it, Invalid for no such span and for one that the question doesn't
    live to see the end of, and Stale once it is closed.
    """
    run_id = _run_of(review_id)
    with committing("snooze"):
        run = inbox.lock(run_id)
        review, user = _theirs(review_id, by)
        if span not in desk.SPANS:
            raise Invalid("Choose until when it is put off.")
        until = models.Snooze.end(review, span, clock_time.now())
        if until is None:
            raise Invalid("By then it is over; choose a shorter time, or extend it first.")
        row, _ = models.Snooze.objects.update_or_create(
            review=review, person=user, defaults={"until": until, "told": False, "set_at": clock_time.now()}
        )
        content = {"until": until.isoformat()}
        audit.append("review.snoozed", actor=by, run=run, subject=f"review {review.pk}", content=content)
        hints.changed(run.pk, inbox=True)
        return row


@attempts.noted("review.wake", "review {}")
def wake(review_id: int, *, by: Actor) -> None:
    """End the person's own snooze now. Refuses Stale where it is over already."""
    run_id = _run_of(review_id)
    with committing("wake"):
        run = inbox.lock(run_id)
        now = clock_time.now()
        found = models.Snooze.objects.filter(review=review_id, person=by.user, until__gt=now)
        if not found.update(until=now, told=True):
            raise Stale("This isn't put off.")
        audit.append("review.woken", actor=by, run=run, subject=f"review {review_id}")
        hints.changed(run.pk, inbox=True)


@attempts.noted("review.hand_over", "review {}")
def hand_over(review_id: int, to_id: int, *, note: str, by: Actor) -> models.Handover:
    """Return whose question this is now; handing it on replaces that, and the audit trail keeps them all.

    Refuses NotYours where the person couldn't answer it, Invalid without a note for somebody else and where the other
    may not answer it or has it already, and Stale once it is closed.
    """
    note = texts.typed(note, "note")
    run_id = _run_of(review_id)
    with committing("hand_over"):
        run = inbox.lock(run_id)
        review, user = _theirs(review_id, by)
        to = models.User.objects.filter(pk=to_id, is_active=True).first()
        if (
            to is None
            or not rights.may_answer(to.roles(), review.kind, review.groups)
            or not scopes.within(to, [run.agent_version.agent_id])
        ):
            raise Invalid("Choose somebody who may answer this.")
        before = models.Handover.objects.filter(review=review).first()
        if before is not None and before.to_id == to.pk:
            raise Invalid(f"{'You have' if to == user else f'{to.display()} has'} this already.")
        if to != user and not texts.says(note):
            raise Invalid(f"Say why {to.display()} gets this; they read it.")
        row, _ = models.Handover.objects.update_or_create(
            review=review, defaults={"to": to, "by": user, "note": note, "at": clock_time.now()}
        )
        models.Snooze.objects.filter(review=review, person=to).delete()
        content = {"to": to.get_username(), "note": note}
        if before is not None:
            content["before"] = before.to.get_username()
        audit.append("review.handed_over", actor=by, run=run, subject=f"review {review.pk}", content=content)
        hints.changed(run.pk, inbox=True)
        return row


def _run_of(review_id: int) -> int:
    return models.Review.objects.values_list("run_id", flat=True).get(pk=review_id)


def _theirs(review_id: int, by: Actor) -> tuple[models.Review, models.User]:
    """Return the open question, locked, and the person; refuse who may not answer it and what is closed."""
    assert by.user is not None
    review = decisions.locked([review_id])[review_id]
    if not rights.may_answer(by.user.roles(), review.kind, review.groups):
        named = " or ".join(f"“{role}”" for role in sorted(rights.answerers(review.kind, review.groups)))
        raise NotYours(f"This isn't yours to put off or hand over; people in the group {named} can.")
    if review.status != lifecycle.Review.OPEN:
        raise Stale("This question is closed.")
    return review, by.user
