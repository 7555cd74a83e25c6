"""The parts of the review page: what will happen, why one is asked, what is known, what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import F, Subquery

from runs import lifecycle, models
from runs.selectors import deciding, ledger, page_models, review_models, review_terms, tools, workers

Votes = tuple[tuple[review_models.Vote, frozenset[int]], ...]
"""Each decision, with who gave it and in whose place."""

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
_CLOSED = {
    lifecycle.Review.EXPIRED: "Nobody answered in time, so this was not done.",
    lifecycle.Review.SETTLED: "It was found out meanwhile; nobody has to answer any more.",
    lifecycle.Review.SUPERSEDED: "This is no longer asked.",
}
_AROUND = 2


def verdict_words(verdict: str) -> str:
    """Return a verdict as the verb of a sentence."""
    return _VERDICTS.get(verdict, "answered")


def preview(review: models.Review, action: models.Action | None) -> review_models.Preview:
    """Return what will happen, as the tool worked it out from the arguments; what could not be is said."""
    notes = tuple(str(note) for note in (review.content or {}).get("notes") or ())
    if action is None:
        return review_models.Preview(sentence="")
    shown: Mapping[str, Any] | None = action.preview
    if shown is None:
        return review_models.Preview(sentence=tools.title(action.tool), warnings=notes, missing=True)
    values = {str(value) for _, value in shown.get("facts", [])}
    head = [
        page_models.Fact(label=label, value=str(shown[name]))
        for name, label in (("target", "Where"), ("money", "Money"))
        if shown.get(name) and not any(value and value in str(shown[name]) for value in values)
    ]
    rows = [page_models.Fact(label=str(label), value=str(value)) for label, value in shown.get("facts", [])]
    tail = [page_models.Fact(label="Reaches", value=str(shown["audience"]))] if shown.get("audience") else []
    body = str(shown.get("body") or "")
    return review_models.Preview(
        sentence=str(shown.get("summary") or tools.title(action.tool)),
        facts=(*head, *rows, *tail),
        texts=(review_models.PreviewText(title="Text as it will be read", text=body),) if body else (),
        warnings=(*notes, *(str(text) for text in shown.get("warnings") or ())),
        reversible=str(shown.get("reversal") or ""),
    )


def tier_reason(review: models.Review, action: models.Action | None) -> str:
    """Return why this has its tier and why one is asked."""
    why = str((review.content or {}).get("why") or "")
    if action is None:
        if review.kind == lifecycle.ReviewKind.QUESTION:
            return "The agent asks before it goes on. Its words are not checked, and your answer approves no action."
        if review.kind == lifecycle.ReviewKind.BUDGET:
            return "A limit is reached. Somebody says whether the run may use more or ends here."
        return why or "The run can't go on by itself. Somebody says whether it is tried again or ends here."
    does = tools.effect_words(action.effect, tool=action.tool)
    declared = f"The tool {tools.title(action.tool)} is declared as one that {does}."
    stop = "." if why and why[-1] not in ".!?" else ""  # it may end with what a person typed
    return f"{why}{stop} {declared}".strip()


def policy(action: models.Action | None) -> str:
    """Return the rule that asked, with its version."""
    if action is None or action.policy_version is None:
        return ""
    name = f"“{action.rule}”, " if action.rule else ""
    return f"{name}policy {action.policy_version.policy.name}, version {action.policy_version.number}"


def steps(run_id: int, action: models.Action | None) -> tuple[review_models.PlanContext, ...]:
    """Return the plan's steps around the action's own."""
    if action is None or not action.step:
        return ()
    rows = models.PlanStep.objects.filter(run=run_id)
    own = rows.filter(key=action.step).values("order")[:1]
    near = (
        rows.annotate(away=F("order") - Subquery(own))
        .filter(away__gte=-_AROUND, away__lte=_AROUND)
        .order_by("order")
    )
    return tuple(
        review_models.PlanContext(
            number=row.order + 1, title=row.title, state=row.state, current=row.key == action.step
        )
        for row in near.only("order", "title", "state", "key")
    )


def votes(review: models.Review, viewer: deciding.Viewer) -> Votes:
    """Return the decisions with who gave them; while a second person is awaited, the others' stay hidden."""
    blind = review.quorum > 1 and review.status == lifecycle.Review.OPEN
    return tuple(
        (
            review_models.Vote(
                by=_given_by(row, viewer),
                at=row.created_at,
                verdict="" if blind and row.person_id != viewer.user.pk else verdict_words(row.verdict),
                reason="" if blind and row.person_id != viewer.user.pk else row.reason,
            ),
            frozenset({row.person_id, row.on_behalf_of_id or row.person_id}),
        )
        for row in review.decisions.filter(revision=review.revision)
        .select_related("person", "on_behalf_of")
        .order_by("id")
    )


def _given_by(row: models.Decision, viewer: deciding.Viewer) -> str:
    who = "You" if row.person_id == viewer.user.pk else row.person.display()
    return who if row.on_behalf_of is None else f"{who}, in place of {row.on_behalf_of.display()},"


def in_place_of(review: models.Review, viewer: deciding.Viewer) -> str:
    """Return in whose place this person would decide, or an empty text."""
    whom = deciding.principal(review, viewer) if review.status == lifecycle.Review.OPEN else None
    return "" if whom is None else whom.display()


def voted(votes: Votes, viewer: deciding.Viewer, review: models.Review) -> bool:
    """Return whether this person has decided, or who they stand in for, or somebody in the place of either."""
    whom = deciding.principal(review, viewer)
    mine = {viewer.user.pk, *([] if whom is None else [whom.pk])}
    return any(not mine.isdisjoint(people) for _, people in votes)


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
    if review.status in _CLOSED or last is None:
        return _CLOSED.get(lifecycle.Review(review.status), "This is closed."), ""
    return f"{last.by} {last.verdict} this.{_after(review, action)}", last.reason


def _after(review: models.Review, action: models.Action | None) -> str:
    """Return what came of an approval so far."""
    if action is None or review.status != lifecycle.Review.APPROVED:
        return ""
    if action.status == lifecycle.Action.SUCCEEDED:
        return f" Done: {ledger.result_text(action)}".rstrip(": ")
    return {
        lifecycle.Action.HELD: " It starts in a moment.",
        lifecycle.Action.APPROVED: " It starts in a moment.",
        lifecycle.Action.INTENT: " It is being done right now.",
        lifecycle.Action.FAILED: f" It did not happen: {action.error}",
        lifecycle.Action.IN_DOUBT: " Whether it happened isn't known yet.",
        lifecycle.Action.ABANDONED: " Whether it happened could not be found out.",
    }.get(lifecycle.Action(action.status), "")


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
    return f"Recorded: you {verdict_words(decision.verdict)}. {what}"


def doubt(review: Any, action: models.Action) -> review_models.Doubt:
    """Return the facts behind "did it happen?"; the database's clock says whether "it did not" may be said."""
    occurrence = action.occurrence
    horizon = occurrence.horizon if occurrence else review.opened_at
    deadline = ledger.deadline(action) or horizon
    rows = list(models.Evidence.objects.filter(action=action).order_by("number"))
    looks = [row.created_at for row in rows if row.source == "lookup"]
    absent = occurrence is not None and review.now >= horizon
    return review_models.Doubt(
        attempted_at=occurrence.first_sent_at
        if occurrence and occurrence.first_sent_at
        else review.opened_at,
        deadline=deadline,
        horizon=horizon,
        looked_at=looks[-1] if looks else None,
        may_say_absent=absent,
        absent_reason=""
        if absent
        else "The request may still arrive, so nobody can say yet that it did not happen. "
        "Look again after that time.",
        attempts=action.attempt,
        key=occurrence.key if occurrence else "",
        where=str((action.preview or {}).get("target") or ""),
        evidence=tuple(
            page_models.Fact(
                label=f"Attempt {row.attempt}: {'it happened' if row.outcome == 'happened' else 'it did not happen'}",
                value=str(row.content.get("summary") or row.content.get("reason") or ""),
            )
            for row in rows
        ),
        lookup=tools.looks_up(action.tool),
        worker=workers.of(action),
    )


def failure(review: models.Review) -> review_models.Failure:
    """Return the facts behind a failed run."""
    content = review.content or {}
    step = (
        models.PlanStep.objects.filter(run=review.run_id, state=lifecycle.Step.FAILED)
        .order_by("order")
        .only("order", "title")
        .first()
    )
    kept = models.Action.objects.filter(run=review.run_id, status=lifecycle.Action.SUCCEEDED).count()
    error = str(content.get("cause") or review.title)
    if content.get("detail"):
        error = f"{error}\n{content['detail']}"
    return review_models.Failure(
        error=error,
        where=f"Step {step.order + 1}: {step.title}" if step else "",
        attempts=review.run.attempts,
        at=review.opened_at,
        checkpoint=int(content.get("checkpoint") or 0),
        contradiction="contradiction" in content,
        differs=tuple(str(sentence) for sentence in content.get("differs") or ()),
        kept=_kept(kept),
    )


def _kept(count: int) -> str:
    if not count:
        return ""
    one = count == 1
    again = "it isn't" if one else "they aren't"
    return (
        f"{'One thing' if one else f'{count} things'} that reached outside {'was' if one else 'were'} done and "
        f"{'stays' if one else 'stay'} so; {again} done again."
    )
