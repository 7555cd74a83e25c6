"""Outcomes of effects: receipts, absorption, doubt. Each moves action, occurrence and log together."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from runs import exact, lifecycle, models
from runs.transitions import absent, clock_time, indexing, texts, words
from runs.transitions.steps import closing, occurrences
from runs.transitions.steps._statement import Work


def happened(
    work: Work, action: models.Action, *, attempt: int, receipt: dict[str, Any], source: str, text: str
) -> None:
    """The effect stands: close the call with its receipt; an open question about it is settled."""
    if source != "run":  # the worker's own answer is one line, the result; how others know it is a line more
        _receipt(
            work,
            action,
            attempt=attempt,
            outcome="happened",
            source=source,
            status=lifecycle.Action.SUCCEEDED,
        )
    line = closing.close_effect(
        work,
        action,
        status=lifecycle.Action.SUCCEEDED,
        text=text,
        ran=True,
        more={"attempt": attempt, "outcome": "happened", "receipt": receipt},
    )
    occurrences.settle(work, action.occurrence, lifecycle.Occurrence.STANDING, receipt_position=line.position)
    asked = action.status == lifecycle.Action.IN_DOUBT
    work.move(action, lifecycle.Action.SUCCEEDED, receipt_position=line.position, error="")
    if asked:
        close_question(work, action)


def did_not_happen(
    work: Work,
    action: models.Action,
    *,
    attempt: int,
    reason: str,
    source: str,
    again: str | None,
    key_used: bool = False,
) -> None:
    """One attempt (0: every open one) provably had no effect.

    `again` is what follows once every attempt is settled so: approved (send again, under a new key only if the
    provider keeps the failure under this one), held (ask again), or None (the call fails). While another attempt is
    unknown nothing follows: one proof says nothing about the others.
    """
    known = {attempt, *absent.attempts(action, pending=work.log.lines)}
    if attempt and not known.issuperset(range(1, action.attempt + 1)):
        _receipt(
            work, action, attempt=attempt, outcome="did_not_happen", source=source, status=None, reason=reason
        )
        action.error = texts.storable(reason)
        action.save(update_fields=["error"])
        return
    status = again or lifecycle.Action.FAILED
    _receipt(
        work, action, attempt=attempt, outcome="did_not_happen", source=source, status=status, reason=reason
    )
    occurrences.settle(work, action.occurrence, lifecycle.Occurrence.VOID)
    if key_used and status == lifecycle.Action.APPROVED and action.occurrence is not None:
        occurrences.next_key(work, action.occurrence)
    work.move(action, status, error=texts.storable(reason))
    close_question(work, action)
    if status == lifecycle.Action.FAILED:
        closing.close_effect(work, action, status=status, text=f"Not done: {reason}", ran=True)


def denied(work: Work, action: models.Action, *, rule: str) -> None:
    """Policy forbids now what it had let through: the call is closed with the rule's name."""
    action.rule, action.verdict = rule, "deny"
    work.move(action, lifecycle.Action.DENIED, not_before=None)
    work.log.append(
        lifecycle.EntryKind.VERDICT,
        {"call": [action.reply_position, action.call_index], "verdict": "deny", "rule": rule, "status": action.status,
         "policy": action.policy_version_id},
    )  # fmt: skip
    closing.close_effect(work, action, status=action.status, text=words.denied(rule), ran=False)


def unknown(work: Work, action: models.Action, *, attempt: int, reason: str) -> None:
    """The attempt ended without an answer; what follows is the ladder's business."""
    _receipt(work, action, attempt=attempt, outcome="unknown", source="run", status=None, reason=reason)
    action.error = texts.storable(reason)
    action.save(update_fields=["error"])


def doubt(work: Work, action: models.Action, *, why: str) -> None:
    """Nothing is left to find out by machine: ask a person. The occurrence is unknown and blocks its identity."""
    occurrences.settle(work, action.occurrence, lifecycle.Occurrence.UNKNOWN)
    review = _question(work, action, why=why)
    content = {
        "call": [action.reply_position, action.call_index],
        "verdict": "in_doubt",
        "review": review.pk,
        "reason": why,
        "status": lifecycle.Action.IN_DOUBT,
    }
    work.log.append(lifecycle.EntryKind.VERDICT, content)
    work.move(action, lifecycle.Action.IN_DOUBT)


def ask_about_earlier(work: Work, owner: models.Action) -> None:
    """A new action waits for an effect that was given up as unknowable: ask about that one again, once."""
    open_already = models.Review.objects.filter(
        action=owner, kind=lifecycle.ReviewKind.IN_DOUBT, status=lifecycle.Review.OPEN
    )
    if not open_already.exists():
        _question(work, owner, why="The same thing is proposed again, and this earlier one is still unknown.")


def found_after_all(work: Work, action: models.Action, *, receipt: dict[str, Any]) -> None:
    """It was to be sent again, but evidence says that it did happen: that is the outcome, and no approval holds."""
    closed = models.Review.objects.filter(action=action, consumed_by__isnull=True)
    closed.filter(status=lifecycle.Review.OPEN).update(status=lifecycle.Review.SETTLED, closed_at=work.now)
    closed.filter(status=lifecycle.Review.APPROVED).update(
        status=lifecycle.Review.SUPERSEDED, closed_at=work.now
    )
    work.inbox_changed = True
    line = closing.close_effect(
        work,
        action,
        status=lifecycle.Action.ABSORBED,
        text=words.found_after_all(),
        ran=True,
        more={"receipt": receipt},
    )
    occurrences.settle(work, action.occurrence, lifecycle.Occurrence.STANDING, receipt_position=line.position)
    work.move(action, lifecycle.Action.ABSORBED, receipt_position=line.position, not_before=None, error="")


def learnt_later(work: Work, owner: models.Action) -> None:
    """Evidence has settled an effect that was given up: close the question about it; whoever waits for it goes on."""
    occurrence = models.Occurrence.objects.get(pk=owner.occurrence_id or 0)
    if occurrence.state in {lifecycle.Occurrence.STANDING, lifecycle.Occurrence.VOID}:
        close_question(work, owner)
        if occurrence.state == lifecycle.Occurrence.STANDING:
            _ask_the_blocked(work, owner)


def _ask_the_blocked(work: Work, owner: models.Action) -> None:
    """Ask anew about every released action that waited for an effect which did happen."""
    for action in _blocked(work, owner.occurrence, lifecycle.Action.APPROVED):
        models.Review.objects.filter(
            action=action, status=lifecycle.Review.APPROVED, consumed_by__isnull=True
        ).update(status=lifecycle.Review.SUPERSEDED, closed_at=work.now)
        why = "the earlier one did happen"
        call = [action.reply_position, action.call_index]
        work.log.append(
            lifecycle.EntryKind.DECISION,
            {"call": call, "verdict": "ask_again", "reason": why, "status": lifecycle.Action.HELD},
        )
        work.move(action, lifecycle.Action.HELD, not_before=None, blocked_by=None, error=why)


def _blocked(work: Work, by: models.Occurrence | None, *statuses: str) -> list[models.Action]:
    rows = models.Action.objects.select_for_update(no_key=True, of=("self",)).order_by("pk")
    return list(rows.filter(run=work.run, blocked_by=by, status__in=statuses)) if by is not None else []


def answered_later(
    work: Work, owner: models.Action, *, answer: str, who: str, receipt: dict[str, Any]
) -> None:
    """An answer about an effect that was given up: it settles the occurrence; the owner's call stays closed.

    Whoever waits for it is asked anew if it happened, goes on if it did not, and is closed if it can't be known.
    """
    assert owner.occurrence is not None
    if work.occurrence(owner.occurrence).state != lifecycle.Occurrence.UNKNOWN:
        return  # evidence was first, and says what is so
    if answer == "happened":
        occurrences.settle(work, owner.occurrence, lifecycle.Occurrence.STANDING, receipt=receipt)
        _ask_the_blocked(work, owner)
    elif answer == "unknown":
        waiting = (lifecycle.Action.HELD, lifecycle.Action.APPROVED)
        blocked = (*_blocked(work, owner.occurrence, *waiting), *_blocked(work, owner.undo_of, *waiting))
        for action in blocked:
            work.move(action, lifecycle.Action.SUPERSEDED, blocked_by=None)
            closing.close_effect(work, action, status=action.status, text=words.unknowable(who), ran=False)
    else:
        occurrences.settle(work, owner.occurrence, lifecycle.Occurrence.VOID)


def _question(work: Work, action: models.Action, *, why: str) -> models.Review:
    work.inbox_changed = True
    review = models.Review.objects.create(
        run=work.run,
        action=action,
        kind=lifecycle.ReviewKind.IN_DOUBT,
        status=lifecycle.Review.OPEN,
        revision=action.revision,
        digest=exact.link(action.pk, action.attempt, action.evidence_number, "in_doubt"),
        evidence_number=action.evidence_number,
        title=f"Did this happen? {action.tool}",
        content={"why": why, "attempts": action.attempt, "error": action.error},
        tier=action.tier,
        groups=list(action.terms.get("groups") or ["reviewer"]),
        due_at=work.now + clock_time.seconds(settings.CKPTSITE["REVIEW_DUE"]),
    )
    indexing.review(review)
    return review


def abandoned(work: Work, action: models.Action, *, who: str) -> None:
    """A person said that it can't be known: the call is closed, the occurrence stays unknown."""
    _receipt(work, action, attempt=0, outcome="unknown", source="person", status=lifecycle.Action.ABANDONED)
    work.move(action, lifecycle.Action.ABANDONED)
    closing.close_effect(work, action, status=action.status, text=words.unknowable(who), ran=False)
    if _blocked(work, action.occurrence, lifecycle.Action.HELD, lifecycle.Action.APPROVED):
        ask_about_earlier(work, action)


def _receipt(
    work: Work,
    action: models.Action,
    *,
    attempt: int,
    outcome: str,
    source: str,
    status: str | None,
    reason: str = "",
) -> None:
    content: dict[str, Any] = {
        "call": [action.reply_position, action.call_index],
        "attempt": attempt,
        "outcome": outcome,
        "source": source,
    }
    if reason:
        content["reason"] = reason
    if status is not None:
        content["status"] = status
    if status == lifecycle.Action.HELD:
        content["review"] = None
    work.log.append(lifecycle.EntryKind.RECEIPT, content)


def close_question(work: Work, action: models.Action) -> None:
    """Close an open question about an outcome that is now known."""
    closed = models.Review.objects.filter(
        run=work.run, action=action, kind=lifecycle.ReviewKind.IN_DOUBT, status=lifecycle.Review.OPEN
    ).update(status=lifecycle.Review.SETTLED, closed_at=work.now)
    work.inbox_changed = work.inbox_changed or bool(closed)
