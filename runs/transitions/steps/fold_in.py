"""Folding what others left in the inbox into the log: each fact once, in inbox order."""

from __future__ import annotations

from typing import Any

from runs import lifecycle, models
from runs.models import columns
from runs.transitions import clock_time, evidence, inbox, judging, words
from runs.transitions.steps import (
    closing,
    editing,
    lost_calls,
    plans,
    questions,
    renewal,
    settle,
    undos,
    wider,
)
from runs.transitions.steps._statement import Claim, Work, fenced

Kind = models.Fact.Kind


def fold_in(claim: Claim, check: undos.Check) -> int:
    """Return the number of facts folded in; `check` checks an undo that was asked for. Refuses LostAuthority."""
    with fenced(claim, "fold_in") as work:
        since = [columns.number(work.run.pk), columns.number(work.run.folded)]
        facts = columns.fetch(models.Fact, "run_id = $1 AND number > $2 ORDER BY number", since)
        columns.follow(facts, "by")
        for fact in facts:
            work.log.stamp = {"fact": [fact.number, inbox.digest(fact)]}
            _fold(work, fact, check)
            if work.log.stamp:  # it led to nothing else
                work.log.append(lifecycle.EntryKind.NOTE, {"code": "read", "kind": fact.kind})
            work.run.folded = fact.number
        _compare(work, facts)
        return len(facts)


def _compare(work: Work, facts: list[models.Fact]) -> None:
    """Compare the evidence among the facts to what they have settled; last, since it may append to the audit chain."""
    numbers = [fact.content["evidence"] for fact in facts if fact.kind == Kind.EVIDENCE]
    if not numbers:
        return
    work.log.flush()
    for row in models.Evidence.objects.filter(pk__in=numbers).select_related("action").order_by("pk"):
        action = work.action((row.action.reply_position, row.action.call_index))
        evidence.compare(work.run, action, row)
        work.inbox_changed = True


def _fold(work: Work, fact: models.Fact, check: undos.Check) -> None:
    match fact.kind:
        case Kind.DECISION:
            _decision(work, fact, check)
        case Kind.EXPIRED:
            _expired(work, fact)
        case Kind.WITHDRAWN:
            _withdrawn(work, fact)
        case Kind.EDITED:
            editing.fold(work, fact)
        case Kind.POLICY:
            _judged(work, fact)
        case Kind.EVIDENCE:
            _evidence(work, fact)
        case Kind.RETRY:
            _retry(work, fact)
            undos.again(work, check)
        case Kind.UNDO:
            wanted = undos.asked(fact.content["occurrence"], by=_who(fact), reason=fact.content["reason"])
            undos.propose(work, check(work.run, wanted))
        case Kind.USAGE:
            lost_calls.replace_estimate(work, fact)
        case Kind.PLAN_EDIT:
            _plan_edit(work, fact)
        case _:
            work.log.append(lifecycle.EntryKind.NOTE, {**fact.content, "code": fact.kind, "by": _who(fact)})


def _who(fact: models.Fact) -> str:
    return fact.by.get_username() if fact.by else "ckptsite"


def _subject(work: Work, fact: models.Fact) -> tuple[models.Review, models.Action | None]:
    review = columns.one(models.Review, "id = $1 AND run_id = $2", fact.content["review"], work.run.pk)
    return review, None if review.action_id is None else work.numbered(review.action_id)


def _decision(work: Work, fact: models.Fact, check: undos.Check) -> None:
    review, action = _subject(work, fact)
    if review.kind == lifecycle.ReviewKind.PLAN:
        _plan(work, fact, review)
    elif review.kind == lifecycle.ReviewKind.QUESTION:
        if not questions.answered(work, fact, review, who=_who(fact)):
            _note(work, fact)
    elif fact.content["answer"] == "go_on":
        renewal.go_on(work, fact, review, who=_who(fact))
    elif action is None:
        _note(work, fact)
    elif review.kind == lifecycle.ReviewKind.IN_DOUBT:
        _answer(work, fact, review, action)
    elif action.status != lifecycle.Action.HELD or review.digest != action.approval_digest:
        _note(work, fact)  # the question was overtaken; the answer is kept, but moves nothing
    elif fact.content["answer"] == "approve":
        not_before = fact.created_at + clock_time.seconds(review.undo_seconds)
        _move(work, fact, action, lifecycle.Action.APPROVED, not_before=not_before.isoformat())
        work.move(action, lifecycle.Action.APPROVED, not_before=not_before)
    elif fact.content["answer"] == "reject":
        _move(work, fact, action, lifecycle.Action.REJECTED)
        work.move(action, lifecycle.Action.REJECTED)
        text = words.rejected(_who(fact), fact.content["reason"])
        closing.close_effect(work, action, status=action.status, text=text, ran=False)
    else:
        _wider(work, fact, review, action, check)


def _wider(
    work: Work, fact: models.Fact, review: models.Review, action: models.Action, check: undos.Check
) -> None:
    who, reason = _who(fact), fact.content["reason"]
    match fact.content["answer"]:
        case "ask_back":
            _move(work, fact, action, lifecycle.Action.REJECTED)
            wider.ask_back(work, action, who=who, question=reason)
        case "by_hand":
            _note(work, fact)
            wider.by_hand(work, action, who=who, receipt=fact.content["receipt"])
        case "keep":
            chosen = wider.kept(work, review, fact.content.get("occurrence"))
            moved = {} if chosen is None else {"identity": chosen.standing.identity_digest}
            _move(work, fact, action, lifecycle.Action.HELD, **moved)
            wider.keep(work, action, chosen, who=who, reason=reason)
        case "undo":
            _move(work, fact, action, lifecycle.Action.HELD)
            action.error = "what was done before was to be taken back first"
            action.save(update_fields=["error"])
            number = wider.undone(review, fact.content.get("occurrence"))
            undos.propose(work, check(work.run, undos.asked(number, by=who, reason=reason)))
        case _:
            _note(work, fact)


def _answer(work: Work, fact: models.Fact, review: models.Review, action: models.Action) -> None:
    """Fold in the answer about an effect in doubt: a fact, and for 'did not happen' a wish."""
    who, answer, reason = _who(fact), fact.content["answer"], fact.content["reason"]
    receipt = {"summary": fact.content.get("receipt") or reason, "value": {"confirmed_by": who}}
    if action.status == lifecycle.Action.ABANDONED:
        _note(work, fact)
        settle.answered_later(work, action, answer=answer, who=who, receipt=receipt)
        return
    if action.status != lifecycle.Action.IN_DOUBT or review.status != lifecycle.Review.ANSWERED:
        _note(work, fact)
        return
    work.log.append(
        lifecycle.EntryKind.DECISION,
        {**fact.content, "by": who, "call": [action.reply_position, action.call_index]},
    )
    if answer == "happened":
        settle.happened(
            work, action, attempt=action.attempt, receipt=receipt, source="person", text=words.happened(who)
        )
    elif answer == "unknown":
        settle.abandoned(work, action, who=who)
    else:
        again = lifecycle.Action.HELD if answer == "absent_do" and work.run.stop_at is None else None
        settle.did_not_happen(work, action, attempt=0, reason=words.left(who), source="person", again=again)


def _expired(work: Work, fact: models.Fact) -> None:
    review, action = _subject(work, fact)
    if review.kind == lifecycle.ReviewKind.QUESTION and questions.expired(work, review):
        return
    if action is None or action.status != lifecycle.Action.HELD:
        _note(work, fact)
        return
    _move(work, fact, action, lifecycle.Action.EXPIRED)
    work.move(action, lifecycle.Action.EXPIRED)
    closing.close_effect(work, action, status=action.status, text=words.expired(), ran=False)


def _withdrawn(work: Work, fact: models.Fact) -> None:
    _, action = _subject(work, fact)
    if action is None or action.status != lifecycle.Action.APPROVED:
        _note(work, fact)
        return
    _move(work, fact, action, lifecycle.Action.HELD)
    work.move(action, lifecycle.Action.HELD, not_before=None)


def _judged(work: Work, fact: models.Fact) -> None:
    """A stricter policy has closed the question: it is put before people on its terms, or closed by its rule."""
    _, action = _subject(work, fact)
    if action is None or action.status != lifecycle.Action.HELD:
        _note(work, fact)
        return
    _move(work, fact, action, lifecycle.Action.HELD, verdict="ask_again", reason=judging.CHANGED)
    action.error = judging.CHANGED
    action.save(update_fields=["error"])


def _evidence(work: Work, fact: models.Fact) -> None:
    row = models.Evidence.objects.select_related("action").get(pk=fact.content["evidence"])
    action = work.action((row.action.reply_position, row.action.call_index))
    happened = row.outcome == models.Evidence.Outcome.HAPPENED
    if action.status in {lifecycle.Action.HELD, lifecycle.Action.APPROVED} and happened:
        _note(work, fact)
        settle.found_after_all(work, action, receipt=row.content)
        return
    if action.status not in lifecycle.ACTION_UNSETTLED:
        _note(work, fact)
        if action.status == lifecycle.Action.ABANDONED and action.occurrence is not None:
            settle.learnt_later(work, action)
        return
    if happened:
        settle.happened(
            work,
            action,
            attempt=row.attempt,
            receipt=row.content,
            source="evidence",
            text=str(row.content["summary"]),
        )
    else:
        settle.did_not_happen(
            work,
            action,
            attempt=row.attempt,
            reason=str(row.content["reason"]),
            source="evidence",
            again=None,
        )


def _retry(work: Work, fact: models.Fact) -> None:
    """A person answered a failure with 'retry': the failed steps are pending again, as new calls."""
    work.log.append(
        lifecycle.EntryKind.NOTE, {**fact.content, "code": fact.kind, "by": _who(fact), "reopened": True}
    )
    failed = models.PlanStep.objects.filter(run=work.run, state=lifecycle.Step.FAILED).order_by("order")
    for key in failed.values_list("key", flat=True):
        plans.mark(work, key, lifecycle.Step.PENDING)


def _plan(work: Work, fact: models.Fact, review: models.Review) -> None:
    """The plan was approved, if it is still this one; a refusal is a note, and the run ends with it as its cause."""
    if fact.content["answer"] != "approve" or review.revision != work.run.plan_version:
        _note(work, fact)
        return
    work.run.approved_plan = review.revision
    content = {**fact.content, "by": _who(fact), "plan": review.revision}
    work.log.append(lifecycle.EntryKind.DECISION, content, boundary=lifecycle.Boundary.PLANNED)


def _plan_edit(work: Work, fact: models.Fact) -> None:
    """A person saved another plan: what it overtakes is closed before anything else happens."""
    _note(work, fact)
    calls = [((position, index), step) for position, index, step in fact.content["overtaken"]]
    plans.supersede(work, calls, words.overtaken(_who(fact), fact.content["reason"]))


def _note(work: Work, fact: models.Fact) -> None:
    work.log.append(lifecycle.EntryKind.NOTE, {**fact.content, "code": fact.kind, "by": _who(fact)})


def _move(work: Work, fact: models.Fact, action: models.Action, status: str, **more: Any) -> None:
    work.log.append(
        lifecycle.EntryKind.DECISION,
        {
            **fact.content,
            **more,
            "by": _who(fact),
            "call": [action.reply_position, action.call_index],
            "status": status,
        },
    )
