"""The review page: one question with everything that a person needs to answer it. A fixed number of queries."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from runs import exact, lifecycle, models
from runs.providers import registry as providers
from runs.selectors import (
    deciding,
    filters,
    inbox_rows,
    now,
    queue,
    review_before,
    review_budget,
    review_desk,
    review_edits,
    review_facts,
    review_files,
    review_likeness,
    review_models,
    review_outcome,
    review_parts,
    review_past,
    review_plan,
    review_questions,
    review_sources,
    review_terms,
    run_family,
    tools,
)

PREPARING = "This was changed. What will happen is being worked out anew; then it can be decided."


def page(
    review_id: int, viewer: deciding.Viewer, chosen: filters.Filters | None = None
) -> review_models.ReviewPage:
    """Return the page of a review that exists; `chosen` is the list that the person came from."""
    chosen = chosen or filters.Filters()
    review: Any = (
        models.Review.objects.select_related(
            "run__agent_version__agent",
            "run__parent__agent_version",
            "run__created_by",
            "action__occurrence",
            "action__policy_version__policy",
            "handover__to",
            "handover__by",
            "alone_by",
        )
        .annotate(
            now=now.ClockNow(),
            in_force=review_terms.IN_FORCE,
            put_off_until=review_desk.put_off_until(viewer),
        )
        .get(pk=review_id)
    )
    run, action = review.run, review.action
    agent = run.agent_version.agent
    reply = _reply(action)
    text, sound = _arguments(action, reply)
    votes = review_parts.votes(review, viewer)
    others = deciding.held_by_others(viewer.user)
    blocked = _blocked(review, viewer, votes, sound=sound)
    preparing = review_edits.being_prepared(review, action)
    if preparing:
        blocked = blocked or PREPARING
    previous_id, next_id = queue.neighbours(viewer, review, chosen)
    taken_back = review_outcome.taken_back(review, viewer)
    outcome, outcome_reason = review_outcome.outcome(review, votes, action, taken_back=taken_back)
    left = undo_left(review, viewer)
    came = review_outcome.came(review, undo_left=left)
    arguments = exact.stored(text) if text and sound else {}
    changes = review_edits.changes(action)
    decisive = tools.decisive(action.tool) if action else ()
    beside = review_before.before(review, arguments)
    return review_models.ReviewPage(
        review_id=review.pk,
        kind=review.kind,
        status=review.status,
        tier=review.tier,
        deviation=bool((review.content or {}).get("deviation")),
        judged=review_terms.judged(review),
        tier_reason=review_parts.tier_reason(review, action),
        policy=review_parts.policy(action),
        title=inbox_rows.effect_of(review),
        tool=action.tool if action else agent.title,
        agent=f"{agent.title or agent.name}, version {run.agent_version.number}",
        run_id=run.pk,
        run_title=run.title,
        parent=run.parent_id if (parent_title := run_family.above(run, viewer)) else None,
        parent_title=parent_title,
        preview=replace(
            review_parts.preview(review, action), attachments=review_files.attachments(arguments)
        ),
        arguments=text,
        arguments_digest=action.digest if action else "",
        decisive_names=decisive,
        changed_names=review_edits.names(changes),
        marks=review_models.Marks(
            revision=review.revision,
            digest=review.digest,
            evidence=evidence(review),
            tightened=review.tightened,
            token=secrets.token_urlsafe(24),
            rendered_at=review.now,
        ),
        waiting_since=review.opened_at,
        due_at=review.due_at,
        overdue=review.due_at < review.now,
        expires_at=review.expires_at,
        said=_words_of(reply, provider=run.agent_version.provider),
        steps=review_parts.steps(run.pk, action),
        facts=(
            *review_facts.facts(review, arguments),
            *(review_budget.around(review) if action and review.status == lifecycle.Review.OPEN else ()),
        ),
        first_time=() if beside else review_likeness.first_time(review),
        quorum=review.quorum,
        needs=review_terms.needs(review),
        given=len(votes),
        votes=tuple(vote for vote, _ in votes if vote.by) if review.quorum > 1 or review.alone_by_id else (),
        broken_glass=review_terms.broken_glass(review),
        may_break_glass=review_terms.may_break_glass(review, viewer),
        may_decide=not blocked,
        blocked=blocked,
        in_place_of=review_terms.in_place_of(review, viewer),
        approval_blocked=deciding.approval_blocked(review, viewer, others=others),
        alone=deciding.alone(review, viewer, others=others),
        reason_required=reason_required(review),
        retype=retype(review),
        doubt=review_parts.doubt(review, action) if _in_doubt(review) else None,
        failure=review_parts.failure(review) if review.kind == lifecycle.ReviewKind.FAILURE else None,
        budget=review_budget.asked(review) if review.kind == lifecycle.ReviewKind.BUDGET else None,
        undo_seconds=review.undo_seconds,
        undo_left=left,
        outcome=outcome,
        outcome_reason=outcome_reason,
        came=came if came and came.asks_again else None,
        taken_back=bool(taken_back),
        again_id=review_outcome.again(review),
        started_by=run.created_by.display(),
        changes=changes,
        preparing=preparing,
        beside=beside,
        editable=sound and review_edits.editable(review, action),
        next_id=next_id,
        previous_id=previous_id,
        desk=review_desk.shown(review, viewer),
        back=chosen.query,
        is_undo=action is not None and action.undo_of_id is not None,
        undoable=action is not None and tools.undoes(action.tool),
        approve_label="Do this too" if beside else "Approve",
        plan=review_plan.lines(review),
        question=review_questions.asked(review),
        similar=None if beside else review_likeness.similar(review, viewer, arguments),
        elsewhere=review_likeness.elsewhere(review, viewer),
        since=review_likeness.since(review),
        sources=review_sources.sources(run, action, arguments, changes),
        past=review_past.past(run, action, viewer),
    )


def done(review_id: int, viewer: deciding.Viewer) -> review_models.Done | None:
    """Return what this person has just decided about the review, or None if they haven't."""
    decision = (
        models.Decision.objects.filter(review_id=review_id, person=viewer.user)
        .select_related("review__action")
        .order_by("-id")
        .first()
    )
    if decision is None:
        return None
    review: Any = decision.review
    review.now = (
        models.Review.objects.annotate(now=now.ClockNow()).values_list("now", flat=True).get(pk=review.pk)
    )
    return review_models.Done(
        review_id=review.pk,
        sentence=review_outcome.done_sentence(decision, review),
        undo_left=undo_left(review, viewer),
        came=review_outcome.came(review, undo_left=undo_left(review, viewer)),
    )


def came(review_id: int, viewer: deciding.Viewer) -> review_models.Came | None:
    """Return what came of an approval so far, or None where nothing comes of the question."""
    rows: Any = models.Review.objects.select_related("action").annotate(now=now.ClockNow())
    review = rows.get(pk=review_id)
    return review_outcome.came(review, undo_left=undo_left(review, viewer))


def retype(review: models.Review) -> review_models.Retype | None:
    """Return what must be typed again before it is approved, or None."""
    found = (review.content or {}).get("retype")
    return review_models.Retype(label=tools.label(found["field"]), value=found["value"]) if found else None


def reason_required(review: models.Review) -> bool:
    """Return whether an approval needs a reason too: so it does where the same was done before."""
    return review.reason_required or review.tier >= 3 or review_before.marked(review)


def measure(review: models.Review) -> str:
    """Return the measure whose limit a question is about, or an empty text."""
    return str((review.content or {}).get("measure", ""))


def sound(review: models.Review) -> bool:
    """Return whether the arguments that it asks about still have their digest."""
    return arguments(review)[1]


def arguments(review: models.Review) -> tuple[str, bool]:
    """Return the canonical text of the arguments that will run, and whether it still has its digest."""
    return _arguments(review.action, _reply(review.action))


def evidence(review: models.Review) -> int:
    """Return the evidence number that an answer has to name."""
    action = review.action if _in_doubt(review) else None
    return review.evidence_number if action is None else action.evidence_number


def _in_doubt(review: models.Review) -> bool:
    return review.kind == lifecycle.ReviewKind.IN_DOUBT


def _arguments(action: models.Action | None, reply: Mapping[str, Any]) -> tuple[str, bool]:
    """Return the text of the arguments that will run, and whether it still has its digest."""
    if action is None:
        return "", True
    first = action.revision == 1 and reply
    given = reply["calls"][action.call_index]["arguments"] if first else action.arguments()
    text = exact.text_of(given)
    return text, exact.digest(text) == action.digest


def _blocked(
    review: models.Review, viewer: deciding.Viewer, votes: review_outcome.Votes, *, sound: bool
) -> str:
    if not sound:
        return "The stored arguments no longer have the digest under which they were proposed. Nobody may approve them."
    if review.status == lifecycle.Review.OPEN and review_parts.voted(votes, viewer, review):
        return "You have decided. It needs somebody else's decision too."
    return deciding.blocked(review, viewer)


def _words_of(reply: Mapping[str, Any], *, provider: str) -> str:
    """Return the agent's own words; a playbook has none, and what stands there only counts its calls."""
    return "" if providers.follows_plan(provider) else str(reply.get("text") or "")


def _reply(action: models.Action | None) -> Mapping[str, Any]:
    """Return the content of the reply that proposed this; it is empty where an ancestor holds it."""
    if action is None:
        return {}
    rows = models.Entry.objects.filter(
        run=action.run_id, position=action.reply_position, kind=lifecycle.EntryKind.REPLY
    )
    return rows.values_list("content", flat=True).first() or {}


def undo_left(review: Any, viewer: deciding.Viewer) -> float:
    """Return for how many seconds this person may still take the approval back."""
    if review.status != lifecycle.Review.APPROVED or review.consumed_by_id is not None:
        return 0.0
    if review.closed_at is None or not deciding.may_decide(review, viewer):
        return 0.0
    start = review.closed_at + datetime.timedelta(seconds=review.undo_seconds)
    left: datetime.timedelta = start - review.now
    return max(0.0, left.total_seconds())
