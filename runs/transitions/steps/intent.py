"""The gate, in the transaction that writes the intent: "I am about to do this"."""

from __future__ import annotations

import datetime
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from runs import exact, lifecycle, models, rights
from runs.models import columns
from runs.state import CallId
from runs.transitions import clock_time, log, restores, rows, undoing
from runs.transitions.refusals import Changed
from runs.transitions.steps import absorbing, blocking, handing, occurrences, settle
from runs.transitions.steps._statement import Claim, Work, fenced


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the engine evaluated outside the transaction and wants to start."""

    call: CallId
    digest: str
    contract: str
    epoch: int
    verdict: str
    timeout: float
    settle: float
    key_window: float
    precondition: Any = None
    rule: str = ""
    quorum: int = 1
    hands_to: handing.HandsTo | None = None


CHANGED = "the world changed since it was approved"
KEEPS_CHANGING = "the world keeps changing between approval and start"
MORE_PEOPLE = "policy now asks for more people"
HANDED = "it may have been handed over already, in what the database has lost"


@dataclass(frozen=True, kw_only=True)
class Intent:
    """The committed right to send once: under this key, as this attempt, before this deadline."""

    action_id: int
    attempt: int
    key: str
    deadline: datetime.datetime
    horizon: datetime.datetime


@dataclass(frozen=True, kw_only=True)
class Started:
    """An intent in the making: a right once its commit is through."""

    action: models.Action
    attempt: int
    key: str
    deadline: datetime.datetime
    horizon: datetime.datetime

    def intent(self) -> Intent:
        """Return the intent; its commit has given the action its number."""
        return Intent(
            action_id=self.action.pk,
            attempt=self.attempt,
            key=self.key,
            deadline=self.deadline,
            horizon=self.horizon,
        )


def intent(claim: Claim, wish: Wish, *, seen: int) -> Intent | None:
    """Return the intent, or None when the action did not start but moved: absorbed, blocked, or asked again.

    Every send passes here, also the second one under the same key. Refuses LostAuthority, and Changed when anything
    was left in the inbox, a stop, hold or switch stands, or the policy epoch has moved.
    """
    with fenced(claim, "intent", seen=seen) as work:
        run = work.run
        before = handing.lock_earlier(wish.hands_to)
        (installation,), released = columns.together(
            columns.asked(models.Installation, "id = $1", [columns.number(1)]),
            columns.asked(models.Review, _RELEASE, [columns.number(part) for part in (run.pk, *wish.call)]),
        )
        if run.mode != models.Run.Mode.LIVE:
            raise Changed(f"run {run.pk} is a dry run, which starts nothing")
        if run.stop_at is not None or run.hold_by_id is not None or installation.halted:
            raise Changed(f"run {run.pk} was stopped or held")
        if installation.gate_epoch != wish.epoch:
            raise Changed("the gate epoch has moved")
        review: models.Review | None = released[0] if released else None  # none where policy allowed it
        action = work.action(wish.call)
        if action.status not in {lifecycle.Action.APPROVED, lifecycle.Action.INTENT}:
            raise Changed(f"action {action.pk} is {action.status}")
        why = _why_not(work, action, review, wish)
        if why is not None:
            _not_now(work, action, review, why, wish)
            return None
        if action.not_before is not None and action.not_before > work.now:
            raise Changed(f"action {action.pk} may not start yet")
        found = occurrences.find(work, action, beside=_beside(review))
        if blocking.holds_up(work, action, found):
            return None
        if found.standing is not None:
            absorbing.absorb(work, action, found.standing, review)
            return None
        if found.others:
            _not_now(work, action, review, "the same was done before with other arguments", wish)
            return None
        if why := undoing.moot(action):
            _not_now(work, action, review, why, wish)
            return None
        if found.waived is not None and review is None:
            why = "it was done before, and may be done once more only if a person says so"
            _not_now(work, action, review, why, wish)
            return None
        suspect = restores.suspect(action, installation.restored_at)
        lost = installation.restored_at if suspect else None
        if lost is not None and _handed_unknown(wish, review, lost):
            _not_now(work, action, review, HANDED, wish)
            return None
        begun = start(work, action, review, wish, found)
        if wish.hands_to is not None:
            handing.begin(work, action, wish.hands_to, before)
        elif lost is not None:
            restores.assume_sent(intent_of=action, restored_at=lost)
            return None  # nothing is sent: what came of it is found out first
        return begun.intent()


_RELEASE = """
run_id = $1 AND kind = 'action' AND status = 'approved' AND action_id = (
  SELECT id FROM runs_action WHERE run_id = $1 AND reply_position = $2 AND call_index = $3)
ORDER BY id DESC LIMIT 1 FOR NO KEY UPDATE
"""
"""The review that released a call, newest first, locked."""


def _beside(review: models.Review | None) -> frozenset[int]:
    """Return the occurrences that its approvers saw, and beside which they want this too."""
    shown = (review.content or {}).get("beside") if review is not None else None
    return frozenset(item["occurrence"] for item in shown or ())


def _why_not(work: Work, action: models.Action, review: models.Review | None, wish: Wish) -> str | None:
    """Return why this must be asked (again), or None when the release holds."""
    if action.digest != wish.digest or action.contract != wish.contract:
        return "what would run is no longer what was proposed"
    if wish.verdict == "deny":
        return "policy now forbids it"
    if review is None:
        return (
            None if wish.verdict == "allow" and action.verdict == "allow" else "policy now asks for a review"
        )
    if review.revision != action.revision or review.digest != action.approval_digest:
        return "the approval was given for another revision"
    if review.consumed_by_id not in {None, action.pk}:
        return "the approval was already used"
    if review.expires_at is not None and review.expires_at <= work.now:
        return "the approval has expired"
    if wish.precondition is not None and exact.canonical(wish.precondition) != exact.canonical(
        action.precondition
    ):
        return KEEPS_CHANGING if action.error in {CHANGED, KEEPS_CHANGING} else CHANGED
    voters = review.voters()
    if review.alone_by_id is not None:  # by break-glass: an administrator's word is enough, while it is one's
        held = review.quorum if any(rights.may(roles, rights.Act.BREAK_GLASS) for roles in voters) else 0
    else:
        held = sum(rights.may_decide(roles, review.groups) for roles in voters)
    if held < review.quorum:
        return "an approver no longer has the right to approve it"
    if held < wish.quorum and review.alone_by_id is None:
        return MORE_PEOPLE
    if action.status == lifecycle.Action.INTENT and not _in_window(work, action, wish):
        return "the time in which its key is known is over"
    return None


def _handed_unknown(wish: Wish, review: models.Review | None, lost: datetime.datetime) -> bool:
    """Return whether this would make a first child anew, and nobody was asked about it since the database was restored.

    A child that was lost is known to nobody here, and what a new one does has other keys.
    """
    if wish.hands_to is None or wish.hands_to.earlier is not None:
        return False
    return review is None or review.closed_at is None or review.closed_at <= lost


def _in_window(work: Work, action: models.Action, wish: Wish) -> bool:
    """Return whether the provider surely still knows the key: counted from the first send, less a tenth."""
    first = action.occurrence.first_sent_at if action.occurrence is not None else None
    return first is not None and work.now < first + clock_time.seconds(0.9 * wish.key_window)


def _not_now(work: Work, action: models.Action, review: models.Review | None, why: str, wish: Wish) -> None:
    """Send the action back to be asked; after a first send only looking is allowed, and what policy forbids ends."""
    if action.status == lifecycle.Action.INTENT:
        settle.doubt(work, action, why=f"it may not be sent again: {why}")
        return
    if (
        review is not None and review.consumed_by_id is None
    ):  # a used one stays what it was: approved, and used
        if why == MORE_PEOPLE:
            review.status = log.moved(review.status, lifecycle.REVIEW_MOVES, lifecycle.Review.OPEN, by="E")
            review.quorum, review.closed_at, review.answer = wish.quorum, None, ""
        else:
            review.status, review.closed_at = lifecycle.Review.SUPERSEDED, work.now
        review.save(update_fields=["status", "quorum", "closed_at", "answer"])
        work.inbox_changed = True
    if wish.verdict == "deny":
        settle.denied(work, action, rule=wish.rule)
        return
    action.error, work.run.error = why, ""
    work.log.append(
        lifecycle.EntryKind.DECISION,
        {"call": [action.reply_position, action.call_index], "verdict": "ask_again", "reason": why,
         "status": lifecycle.Action.HELD},
    )  # fmt: skip
    work.move(action, lifecycle.Action.HELD, not_before=None)


def start(
    work: Work, action: models.Action, review: models.Review | None, wish: Wish, found: occurrences.Found
) -> Started:
    """Write the intent: the release is used up, the occurrence is open, the lease outlives the deadline."""
    run, now = work.run, work.now
    deadline = now + clock_time.seconds(wish.timeout)
    horizon = deadline + clock_time.seconds(wish.settle)
    attempt = action.attempt + 1
    occurrence = occurrences.begin(work, action, found, horizon=horizon)
    if review is not None:
        before = dict(review.__dict__)
        review.consumed_by = action
        rows.update(review, before)
    # The lease must outlive the effect: nobody may take the run over while it can still be sent.
    assert run.lease_until is not None
    run.lease_until = max(run.lease_until, deadline + clock_time.seconds(settings.CKPTSITE["MARGIN"]))
    content = {
        "call": [action.reply_position, action.call_index],
        "attempt": attempt,
        "fence": run.fence,
        "tool": action.tool,
        "digest": action.digest,
        "approval": action.approval_digest,
        "review": review.pk if review else None,
        "occurrence": [occurrence.identity_digest, occurrence.n],
        "key": occurrence.key,
        "deadline": deadline.isoformat(),
        "horizon": horizon.isoformat(),
        "status": lifecycle.Action.INTENT,
    }
    if found.waived is not None:
        content["waives"] = found.waived.pk
        run.waivers = {**run.waivers, str(found.waived.pk): action.pk}
    work.log.append(lifecycle.EntryKind.INTENT, content, boundary=lifecycle.Boundary.BEFORE_IRREVERSIBLE)
    work.move(
        action,
        lifecycle.Action.INTENT,
        attempt=attempt,
        occurrence=occurrence,
        blocked_by=None,
        not_before=None,
        error="",
    )
    return Started(action=action, attempt=attempt, key=occurrence.key, deadline=deadline, horizon=horizon)
