"""What became of a question: what was decided, what came of it so far, and what took its place."""

from __future__ import annotations

import math

from django.utils import timezone
from django.utils.formats import date_format

from runs import lifecycle, models
from runs.selectors import deciding, ledger, review_models, review_terms, switched, tools

Votes = tuple[tuple[review_models.Vote, frozenset[int]], ...]

_VERDICTS = {
    "approve": "approved",
    "reject": "rejected",
    "happened": "said that it happened",
    "absent_do": "said that it did not happen and shall be done",
    "absent_leave": "said that it did not happen and shall be left",
    "unknown": "said that it can't be known",
    "retry": "had it tried again",
    "ask_back": "asked back about",
    "by_hand": "did by hand",
    "keep": "kept what was done before instead of",
    "undo": "wants what was done before taken back, and then to be asked again:",
    "once": "found that it happened once:",
    "twice": "found that it happened twice:",
    "not_at_all": "found that it did not happen:",
    "go_on": "let it go on with what is there now",
    "stop": "ended it",
    "raise": "raised the limit",
    "answer": "answered",
    "cannot": "could not answer",
}
_COMES = (lifecycle.Action.HELD, lifecycle.Action.APPROVED, lifecycle.Action.INTENT)
_CLOSED = {
    lifecycle.Review.EXPIRED: "Nobody answered in time, so this was not done.",
    lifecycle.Review.SETTLED: "It was found out meanwhile; nobody has to answer any more.",
    lifecycle.Review.SUPERSEDED: "This is no longer asked.",
}


def verdict_words(verdict: str) -> str:
    """Return a verdict as the verb of a sentence."""
    return _VERDICTS.get(verdict, "answered")


def taken_back(review: models.Review, viewer: deciding.Viewer) -> str:
    """Return who took the approval back, as a sentence, or an empty text."""
    if review.status != lifecycle.Review.SUPERSEDED:
        return ""
    left = models.Fact.objects.filter(run=review.run_id, kind=models.Fact.Kind.WITHDRAWN).select_related("by")
    for fact in left.order_by("-number"):
        if fact.content.get("review") == review.pk and fact.by is not None:
            return f"{'You' if fact.by == viewer.user else fact.by.display()} took it back. Nothing was done."
    return ""


def again(review: models.Review) -> int | None:
    """Return the newest review that asks about the same action in place of this one."""
    if review.status != lifecycle.Review.SUPERSEDED or review.action_id is None:
        return None
    later = models.Review.objects.filter(action=review.action_id, pk__gt=review.pk)
    return later.order_by("-pk").values_list("pk", flat=True).first()


def outcome(
    review: models.Review, given: Votes, action: models.Action | None, *, taken_back: str
) -> tuple[str, str]:
    """Return what became of a closed question: one sentence, and the reason that was given."""
    if review.status == lifecycle.Review.OPEN:
        return "", ""
    if taken_back:
        return taken_back, ""
    last = given[-1][0] if given else None
    if review.status == lifecycle.Review.SUPERSEDED and last is not None and review.answer == "approve":
        return f"{last.by} approved this; the approval no longer holds.", last.reason
    if review.status == lifecycle.Review.SUPERSEDED and review_terms.judged(review):
        return review_terms.judged(review), ""
    if review.status == lifecycle.Review.SUPERSEDED and (stands := _stood(action)):
        receipt = ledger.result_text(stands.owner) or "It is done already."
        when = date_format(timezone.localtime(stands.settled_at or stands.horizon), "j M, H:i")
        return f"{receipt} That was in run {stands.owner.run_id}, {when}; it is not done again.", ""
    if review.status in _CLOSED or last is None:
        return _CLOSED.get(lifecycle.Review(review.status), "This is closed."), ""
    after = "" if _comes(review, action) else _after(review, action)  # the page looks anew for that
    return f"{last.by} {last.verdict} this.{after}", last.reason


def _stood(action: models.Action | None) -> models.Occurrence | None:
    """Return the effect that the action was found to be, where it was done before."""
    return action.occurrence if action is not None and action.status == lifecycle.Action.ABSORBED else None


def _comes(review: models.Review, action: models.Action | None) -> bool:
    return action is not None and review.status == lifecycle.Review.APPROVED and action.status in _COMES


def _starts(review: models.Review, action: models.Action) -> str:
    """Return when what is approved starts, where nobody has to do anything more for it, or what it waits for."""
    if review.run.status == lifecycle.Run.PAUSED:
        return " It starts when the run goes on, which is paused."
    switches = models.Installation.objects.values_list("switches", flat=True).get(pk=1)
    if switched.held_up(switches, review.run.agent_version.agent.name) or f"tool:{action.tool}" in switches:
        return " It starts when the pause is lifted; nothing of it starts now."
    return " It starts in a moment."


def _after(review: models.Review, action: models.Action | None) -> str:
    """Return what came of an approval so far."""
    if action is None or review.status != lifecycle.Review.APPROVED:
        return ""
    if action.status == lifecycle.Action.SUCCEEDED:
        return f" Done: {ledger.result_text(action)}".rstrip(": ")
    if action.status in {lifecycle.Action.HELD, lifecycle.Action.APPROVED}:
        return _starts(review, action)
    return {
        lifecycle.Action.INTENT: " It is being done right now.",
        lifecycle.Action.FAILED: f" It did not happen: {action.error}",
        lifecycle.Action.IN_DOUBT: " Whether it happened isn't known yet.",
        lifecycle.Action.ABANDONED: " Whether it happened could not be found out.",
    }.get(lifecycle.Action(action.status), "")


def came(review: models.Review, *, undo_left: float) -> review_models.Came | None:
    """Return what came of an approval so far, for the pages that say that it was given."""
    action = review.action
    if action is None or review.status != lifecycle.Review.APPROVED:
        return None
    return review_models.Came(
        review_id=review.pk,
        words="" if undo_left else _after(review, action).strip(),  # the button beside it counts down
        good=action.status == lifecycle.Action.SUCCEEDED,
        run_id=review.run_id,
        asks_again=max(3, math.ceil(undo_left) + 1) if _comes(review, action) else None,
    )


def done_sentence(decision: models.Decision, review: models.Review) -> str:
    """Return what a person has just done, for the banner on the next page."""
    what = tools.short(review.title, 160)
    match decision.verdict:
        case "approve" if review.status == lifecycle.Review.OPEN:
            return f"Your approval is noted, it needs one more: {what}"
        case "approve" if review.status == lifecycle.Review.SUPERSEDED:
            return f"Taken back, nothing was done: {what}"
        case "approve":
            return f"Approved: {what}"
        case "reject":
            return f"Rejected, it is not done: {what}"
        case "retry":
            return f"The run goes on: {what}"
        case "raise":
            return f"Raised; the run goes on: {what}"
        case "stop" if review.kind == lifecycle.ReviewKind.BUDGET:
            return f"The run is being stopped: {what}"
        case "stop":
            return f"The run stays ended: {what}"
        case "keep":
            return f"What was done before is kept, and this is not done: {what}"
        case "undo":
            return f"What was done before is taken back first, then you are asked again: {what}"
        case "ask_back":
            return f"Asked back, it is not done: {what}"
        case "by_hand":
            return f"Recorded as done by hand: {what}"
    return f"Recorded, you {verdict_words(decision.verdict).rstrip(':')}: {what}"
