"""The parts of the review page: what will happen, why one is asked, what is known, what was decided."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db.models import F, Subquery

from runs import lifecycle, models
from runs.models.reversals import TAKEN_BACK
from runs.selectors import (
    deciding,
    failures,
    ledger,
    page_models,
    review_models,
    review_outcome,
    tools,
    workers,
)

"""Each decision, with who gave it and in whose place."""

_AROUND = 2


def preview(review: models.Review, action: models.Action | None) -> review_models.Preview:
    """Return what will happen, as the tool worked it out from the arguments; what could not be is said."""
    notes = tuple(str(note) for note in (review.content or {}).get("notes") or ())
    if action is None:
        return review_models.Preview(sentence="")
    shown = shown_of(action)
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


def shown_of(action: models.Action) -> Mapping[str, Any] | None:
    """Return what will happen by the action's newest arguments: an edit that is just what stands has no preview of its
    own, and is shown as what was done.
    """
    stands = action.occurrence if action.status == lifecycle.Action.ABSORBED else None
    found = stands.owner.preview if stands is not None and action.revision > 1 else action.preview
    shown: Mapping[str, Any] | None = found
    return shown


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


def votes(review: models.Review, viewer: deciding.Viewer) -> review_outcome.Votes:
    """Return the decisions with who gave them; until somebody has decided too, they learn nothing of the others'."""
    rows = list(
        review.decisions.filter(revision=review.revision)
        .select_related("person", "on_behalf_of")
        .order_by("id")
    )
    mine = any(viewer.user.pk in {row.person_id, row.on_behalf_of_id} for row in rows)
    blind = review.quorum > 1 and review.status == lifecycle.Review.OPEN and not mine
    return tuple(
        (
            review_models.Vote(
                by="" if blind else _given_by(row, viewer),
                at=row.created_at,
                verdict="" if blind else review_outcome.verdict_words(row.verdict),
                reason="" if blind else row.reason,
            ),
            frozenset({row.person_id, row.on_behalf_of_id or row.person_id}),
        )
        for row in rows
    )


def _given_by(row: models.Decision, viewer: deciding.Viewer) -> str:
    who = "You" if row.person_id == viewer.user.pk else row.person.display()
    return who if row.on_behalf_of is None else f"{who}, in place of {row.on_behalf_of.display()},"


def voted(votes: review_outcome.Votes, viewer: deciding.Viewer, review: models.Review) -> bool:
    """Return whether this person has decided, or who they stand in for, or somebody in the place of either."""
    whom = deciding.principal(review, viewer)
    mine = {viewer.user.pk, *([] if whom is None else [whom.pk])}
    return any(not mine.isdisjoint(people) for _, people in votes)


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
    done = models.Action.objects.filter(run=review.run_id, status=lifecycle.Action.SUCCEEDED, undo_of=None)
    kept = done.filter(occurrence__state=lifecycle.Occurrence.STANDING).count()
    back = content.get(TAKEN_BACK)
    error = str(content.get("cause") or review.title)
    if content.get("detail"):
        error = f"{error}\n{content['detail']}"
    return review_models.Failure(
        error=error,
        where=f"Step {step.order + 1}: {step.title}" if step else "",
        attempts=review.run.attempts,
        at=review.opened_at,
        checkpoint=int((failures.last_good(review.run) if back else content.get("checkpoint")) or 0),
        taken_back=bool(back),
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
