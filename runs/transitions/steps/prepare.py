"""Opening the reviews of held actions, after their previews were asked for outside any transaction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from runs import exact, lifecycle, models
from runs.state import CallId
from runs.tools import registry, retyping
from runs.transitions import clock_time, indexing, ladders, log, texts, words
from runs.transitions.steps import absorbing, alike, blocking, closing, crowding, likeness, occurrences, wider
from runs.transitions.steps._statement import Claim, Work, fenced
from runs.transitions.steps.reply import Verdict

SHOWN = 20
"""So many effects that a call may be once more are put beside it, the newest first."""


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """One action as it will be put before a person: what will happen, the world as it is, and the terms in force."""

    call: CallId
    title: str
    verdict: Verdict
    policy_version: int | None
    preview: Mapping[str, Any] | None
    precondition: Mapping[str, Any] | None
    retype: Mapping[str, str] | None = None
    why: str = ""
    notes: tuple[str, ...] = ()
    deviation: bool = False  # it leaves the plan that was approved


def prepare(claim: Claim, prepared: list[Prepared]) -> None:
    """Open one review for each action that is still proposed, or held without a review. Refuses LostAuthority.

    One that waits for an equal effect whose outcome nobody knows yet is held without a question of its own; one that
    was never asked stays proposed where as many questions are open as may be.
    """
    with fenced(claim, "prepare") as work:
        room = crowding.left(work.run)
        for item in prepared:
            action = work.action(item.call)
            if action.status not in {lifecycle.Action.PROPOSED, lifecycle.Action.HELD}:
                continue
            blocking.over(work, action)
            if absorbing.absorbed_before(work, action):
                continue
            if item.verdict.verdict == "deny":
                _deny(work, action, item)
                continue
            if _decided_meanwhile(action):
                continue
            found = occurrences.find(work, action)
            if blocking.hold(work, action, found):
                continue
            if action.status == lifecycle.Action.PROPOSED:
                if not room:
                    continue
                room -= 1
            _open(work, action, item, found)
            work.inbox_changed = True
        # People go on from here with other arguments: the calls are open, and nothing is done yet.
        work.log.checkpoint(lifecycle.Boundary.WAITING if work.inbox_changed else lifecycle.Boundary.RESULT)


def _decided_meanwhile(action: models.Action) -> bool:
    """Return whether a question that was still open got its last vote while this was prepared."""
    return models.Review.objects.filter(
        action=action,
        kind=lifecycle.ReviewKind.ACTION,
        status=lifecycle.Review.APPROVED,
        consumed_by__isnull=True,
        digest=action.approval_digest,
    ).exists()


def _deny(work: Work, action: models.Action, item: Prepared) -> None:
    """Policy became stricter since the proposal: the call is closed with the rule's name."""
    action.rule = item.verdict.rule
    absorbing.withdraw_question(work, action)
    if action.status == lifecycle.Action.HELD:
        work.move(action, lifecycle.Action.SUPERSEDED)
    else:
        work.move(action, lifecycle.Action.DENIED)
    closing.close_effect(work, action, status=action.status, text=words.denied(item.verdict.rule), ran=False)


def _open(work: Work, action: models.Action, item: Prepared, found: occurrences.Found) -> None:
    terms = item.verdict.terms
    before = _shown_before(action, item)
    action.preview = dict(item.preview) if item.preview is not None else None
    action.precondition = dict(item.precondition) if item.precondition is not None else None
    action.verdict, action.rule, action.terms = "review", item.verdict.rule, dict(terms)
    action.policy_version_id = item.policy_version
    action.tier = max(action.tier, item.verdict.tier)
    action.approval_digest = approval_digest(action)
    review = _asked(work, action) or _new(work, action, terms)
    review.title = texts.storable(item.title, limit=300)
    review.content = {
        "retype": item.retype,
        "why": item.why,
        "notes": list(item.notes),
        "rule": item.verdict.rule,
    }
    if item.deviation:
        review.content = {**review.content, "deviation": True}
    if before is not None:
        review.content = {**review.content, "before": before}
    question = wider.asked_back_before(action)
    if question:
        review.content = {**review.content, "answers": question}
    if found.others:
        review.content = {**review.content, "beside": wider.shown(found.others)}
    others = alike.standing(work.run, registry.get(action.tool), action.identity_digest)
    if others:
        review.content = {**review.content, "alike": wider.shown(others[:SHOWN])}
    arguments = action.arguments()
    review.shape, review.target = likeness.shape(action, arguments), likeness.target(action)
    review.same = likeness.same(action)
    review.revision, review.digest, review.tier = action.revision, action.approval_digest, action.tier
    review.policy_version_id = item.policy_version
    review.quorum = max(review.quorum, terms.get("quorum", 1))
    review.groups = list(terms.get("groups", ["reviewer"]))
    review.separation = bool(terms.get("separation", False)) or review.tier >= retyping.FINAL
    review.reason_required = bool(terms.get("reason_required", False))
    review.undo_seconds = ladders.undo_seconds(action.tier, terms)
    review.save()
    indexing.review(review, arguments=arguments)
    content = {
        "call": [action.reply_position, action.call_index],
        "verdict": "review",
        "rule": item.verdict.rule,
        "policy": item.policy_version,
        "review": review.pk,
        "revision": action.revision,
        "approval": action.approval_digest,
        "tier": action.tier,
        "terms": exact.digest_of(action.terms),
        "preview": exact.digest_of(action.preview),
        "precondition": exact.digest_of(action.precondition),
        "status": lifecycle.Action.HELD,
    }
    work.log.append(lifecycle.EntryKind.VERDICT, content)
    work.move(action, lifecycle.Action.HELD)


def _shown_before(action: models.Action, item: Prepared) -> dict[str, Any] | None:
    """Return preview and precondition that people were asked about before, where either is another now."""
    if not action.approval_digest:
        return None
    before = {"preview": action.preview, "precondition": action.precondition}
    now = {"preview": item.preview, "precondition": item.precondition}
    return None if exact.canonical(before) == exact.canonical(now) else before


def _asked(work: Work, action: models.Action) -> models.Review | None:
    """Return the open question that this one goes on with: the same again for more people, or edited meanwhile.

    One that asks about something else now is no longer asked.
    """
    review = (
        models.Review.objects.select_for_update(no_key=True, of=("self",))
        .filter(action=action, kind=lifecycle.ReviewKind.ACTION, status=lifecycle.Review.OPEN)
        .first()
    )
    if review is None:
        return None
    edited = review.votes == 0 and review.revision == action.revision
    if edited or review.digest == action.approval_digest:
        return review
    review.status = log.moved(review.status, lifecycle.REVIEW_MOVES, lifecycle.Review.SUPERSEDED, by="E")
    review.closed_at = work.now
    review.save(update_fields=["status", "closed_at"])
    return None


def _new(work: Work, action: models.Action, terms: Mapping[str, Any]) -> models.Review:
    expires = terms.get("expires_seconds") or settings.CKPTSITE["REVIEW_EXPIRES"]
    due = min(terms.get("due_seconds") or settings.CKPTSITE["REVIEW_DUE"], expires)
    review = models.Review(
        run=work.run,
        action=action,
        kind=lifecycle.ReviewKind.ACTION,
        status=lifecycle.Review.OPEN,
        quorum=1,
        due_at=work.now + clock_time.seconds(due),
        expires_at=work.now + clock_time.seconds(expires),
    )
    ladders.set_up(review, terms, now=work.now)
    return review


def approval_digest(action: models.Action) -> str:
    """Return what an approval names: action, revision, tool, contract, arguments, preview and precondition."""
    return exact.link(
        action.pk,
        action.revision,
        action.tool,
        action.contract,
        action.digest,
        exact.digest_of(action.preview),
        exact.digest_of(action.precondition),
    )
