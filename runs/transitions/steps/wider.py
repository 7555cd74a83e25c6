"""The wider answers to "may this be done?": asked back, done by hand, and kept as it was done before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs import lifecycle, models
from runs.tools import registry
from runs.transitions import changes, undoing, words
from runs.transitions.steps import absorbing, closing, occurrences
from runs.transitions.steps._statement import Work


def shown(others: tuple[models.Occurrence, ...]) -> list[dict[str, Any]]:
    """Return what a person must see of effects that were done before, to say whether this is one of them."""
    return [
        {
            "occurrence": row.pk,
            "run": row.owner.run_id,
            "arguments": row.owner.arguments(),
            "receipt": str(occurrences.receipt(row).get("summary", "")),
            "title": str((row.owner.preview or {}).get("summary") or _title(row.tool)),
        }
        for row in others
    ]


def _title(tool: str) -> str:
    try:
        return registry.get(tool).title or tool
    except registry.UnknownTool:
        return tool


def ask_back(work: Work, action: models.Action, *, who: str, question: str) -> None:
    """Close the call with the question; the agent answers it with another proposal."""
    work.move(action, lifecycle.Action.REJECTED)
    closing.close_effect(work, action, status=action.status, text=words.asked_back(who, question), ran=False)


def asked_back_before(action: models.Action) -> dict[str, Any] | None:
    """Return the question that this proposal answers: the run's last one with this tool was asked back about."""
    last = (
        models.Action.objects.filter(run=action.run_id, tool=action.tool, pk__lt=action.pk)
        .order_by("-pk")
        .first()
    )
    asked = (
        models.Decision.objects.filter(review__action=last, verdict="ask_back")
        .select_related("person")
        .order_by("-pk")
        .first()
    )
    if last is None or asked is None:
        return None
    return {"review": asked.review_id, "by": asked.person.display(), "question": asked.reason}


def by_hand(work: Work, action: models.Action, *, who: str, receipt: str) -> None:
    """Close the call as done: a person has done it, and it stands as an effect of this action."""
    stored = {"summary": receipt, "value": {"done_by_hand_by": who}}
    at = work.run.position + 1  # the line that follows
    occurrence = occurrences.by_hand(work, action, receipt_position=at)
    work.log.append(
        lifecycle.EntryKind.RECEIPT,
        {
            "call": [action.reply_position, action.call_index],
            "attempt": 0,
            "outcome": "happened",
            "source": "by_hand",
            "receipt": stored,
            "occurrence": [occurrence.identity_digest, occurrence.n],
            "status": lifecycle.Action.SUCCEEDED,
        },
    )
    work.move(action, lifecycle.Action.SUCCEEDED, occurrence=occurrence, receipt_position=at, error="")
    undoing.follow(occurrence, by="E")
    text = words.by_hand(who, receipt)
    closing.close_effect(work, action, status=action.status, text=text, ran=True, value=stored["value"])


def undone(review: models.Review, which: int | None) -> int:
    """Return the effect that a person wants taken back before this is done: the one they chose, or the only one."""
    content = review.content or {}
    known = [*content.get("beside", ()), *content.get("alike", ())]
    number: int = known[0]["occurrence"] if which is None else which
    return number


@dataclass(frozen=True, kw_only=True)
class Kept:
    """What was done before and is kept in this call's place: as it was shown, and as it stands."""

    item: Mapping[str, Any]
    standing: models.Occurrence


def kept(work: Work, review: models.Review, which: int | None) -> Kept | None:
    """Return the effect that a person chose; None when it no longer stands, and so the question is asked anew."""
    content = review.content or {}
    known = [*content.get("beside", ()), *content.get("alike", ())]
    item = next(one for one in known if which in {None, one["occurrence"]})
    row = models.Occurrence.objects.select_for_update(no_key=True, of=("self",)).get(pk=item["occurrence"])
    return Kept(item=item, standing=row) if row.state == lifecycle.Occurrence.STANDING else None


def keep(work: Work, action: models.Action, chosen: Kept | None, *, who: str, reason: str) -> None:
    """Close the call with the old receipt and the difference to what was proposed: this is that effect."""
    if chosen is None:
        action.error = "what was done before no longer stands"
        action.save(update_fields=["error"])
        return
    text = words.kept(who, reason, changes.between(action.arguments(), chosen.item["arguments"]))
    if action.identity_digest != chosen.standing.identity_digest:
        action.proposed_identity = action.proposed_identity or action.identity_digest
        action.identity = chosen.standing.identity
        action.identity_digest = chosen.standing.identity_digest
    absorbing.absorb(work, action, chosen.standing, None, text=text)
