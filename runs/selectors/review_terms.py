"""What a changed policy has made of an open question, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.conf import settings
from django.db.models import Subquery

from runs import lifecycle, models, rights
from runs.policies import words
from runs.selectors import deciding

IN_FORCE = Subquery(models.Installation.objects.values("policy_version")[:1])
"""The policy version in force, to be read with a question."""
_ENDS = {
    "denied": "it is forbidden now, so nobody has to answer any more.",
    "again": "what was approved so far doesn't count any more, and it is asked again.",
}


def judged(review: Any) -> str:
    """Return what a policy that was changed while the question was open has made of it, or an empty text."""
    found = (review.content or {}).get("judged")
    if found is not None:
        said = _ENDS[found["ends"]] if "ends" in found else f"{_listed(_changes(found))}."
        return f"The policy was changed while this was open: {said}"
    behind = review.kind == lifecycle.ReviewKind.ACTION and review.status == lifecycle.Review.OPEN
    if behind and getattr(review, "in_force", review.policy_version_id) != review.policy_version_id:
        return "The policy was changed a moment ago; on which terms this is asked is being looked at."
    return ""


def needs(review: models.Review) -> str:
    """Return how many approvals it needs, and whose: for a question about an action or a plan."""
    if review.kind not in {lifecycle.ReviewKind.ACTION, lifecycle.ReviewKind.PLAN}:
        return ""
    who = "somebody who neither started nor changed it" if review.separation else words.either(review.groups)
    apart = "each " if review.quorum > 1 else ""
    return f"{words.approvals(review.quorum)}, {apart}by {who}"


def _changes(found: Mapping[str, Any]) -> Iterator[str]:
    before, after = found["before"], found["after"]
    if after["tier"] != before["tier"]:
        yield f"it is treated as tier {after['tier']}"
    if after["groups"] != before["groups"]:
        yield f"it is {words.either(after['groups'])} who decides"
    if after["quorum"] != before["quorum"]:
        yield f"it needs {words.people(after['quorum'])}"
    if after["separation"] != before["separation"]:
        yield "whoever started or changed it can't release it"
    if after["reason_required"] != before["reason_required"]:
        yield "it needs a reason"
    if after["due"] != before["due"]:
        yield "it is due earlier"
    if (after["expires"], after["on_expiry"]) != (before["expires"], before["on_expiry"]):
        yield "it ends otherwise when nobody answers"
    if after["undo_seconds"] != before["undo_seconds"]:
        yield "it starts later after its approval"


def _listed(parts: Iterator[str]) -> str:
    known = list(parts) or ["its terms are stricter"]
    return known[0] if len(known) == 1 else f"{', '.join(known[:-1])}, and {known[-1]}"


def broken_glass(review: models.Review) -> str:
    """Return who released this alone though it needed another person, or an empty text."""
    return (
        "" if review.alone_by is None else f"{review.alone_by.display()} released this alone, by break-glass."
    )


def may_break_glass(review: models.Review, viewer: deciding.Viewer) -> bool:
    """Return whether this person could release it alone: an administrator, where it needs another one besides."""
    asked = review.kind == lifecycle.ReviewKind.ACTION and review.status == lifecycle.Review.OPEN
    needs = review.quorum > 1 or review.separation
    return bool(settings.CKPTSITE["BREAK_GLASS"]) and asked and needs and viewer.may(rights.Act.BREAK_GLASS)


def in_place_of(review: models.Review, viewer: deciding.Viewer) -> str:
    """Return in whose place this person would decide, or an empty text."""
    whom = deciding.principal(review, viewer) if review.status == lifecycle.Review.OPEN else None
    return "" if whom is None else whom.display()
