"""What the log says of a question, in words: what a person was asked then, and what somebody changed in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs import models
from runs.selectors import tools
from runs.selectors.run_labels import ASK, BAD, DOUBT, PERSON, QUIET, SYSTEM
from runs.selectors.run_log import Line, Names


@dataclass(frozen=True, kw_only=True)
class Said:
    """One line in words. `side` is who speaks: agent, tool, person or system."""

    title: str
    icon: str
    tone: str = QUIET
    side: str = SYSTEM
    who: str = "ckptsite"
    text: str = ""
    action: models.Action | None = None
    review_id: int | None = None


def about(action: models.Action | None, names: Names) -> str:
    """Return what an action is about: its preview's sentence, else its step, else its tool."""
    if action is None:
        return "an action"
    shown = action.preview or {}
    return str(shown.get("summary") or names.steps.get(action.step) or tools.title(action.tool))


def verdict(line: Line, names: Names) -> Said:
    """Return what policy said of an action, and what a person was asked then."""
    content, action = line.content, names.action(line)
    review = names.reviews.get(content.get("review") or 0)
    match content.get("verdict"):
        case "review":
            title = f"Asked a person: {_as_asked(content, action, review, names)}"
            return Said(
                title=title,
                icon="hourglass",
                tone=ASK,
                action=action,
                review_id=review.pk if review else None,
            )
        case "plan" | "question":
            title = review.title if review else "Approve the plan"
            return Said(
                title=f"Asked a person: {title}", icon="hourglass", tone=ASK, review_id=content.get("review")
            )
        case "pins":
            text = str(content.get("reason") or "")
            title = "Asked a person whether it goes on: what it started with has changed"
            number = content.get("review")
            return Said(title=title, icon="hourglass", tone=ASK, text=text, review_id=number)
        case "in_doubt":
            return Said(
                title=f"Asked a person whether this happened: {about(action, names)}",
                icon="circle-question-mark",
                tone=DOUBT,
                text=str(content.get("reason") or ""),
                action=action,
                review_id=review.pk if review else None,
            )
        case "deny":
            title = f"Blocked by the rule “{content.get('rule', '')}”: {about(action, names)}"
            return Said(title=title, icon="ban", tone=BAD, action=action)
    return Said(
        title=f"Allowed by the rule “{content.get('rule', '')}”: {about(action, names)}",
        icon="shield-check",
        action=action,
    )


def _as_asked(
    content: Mapping[str, Any], action: models.Action | None, review: models.Review | None, names: Names
) -> str:
    """Return what was asked then; the question's own title, and the preview, are of its newest revision only."""
    revision = int(content.get("revision") or 1)
    if review is not None and review.revision == revision:
        return review.title
    if action is None:
        return "an action"
    if review is None and action.revision == revision:
        return about(action, names)
    which = "as it was proposed first" if revision == 1 else f"as it was changed, revision {revision}"
    return f"{_called(action, names)}, {which}"


def _called(action: models.Action, names: Names) -> str:
    """Return what an action is called whatever its arguments: its step, else its tool."""
    return names.steps.get(action.step) or tools.title(action.tool)


def revision(line: Line, names: Names) -> Said:
    """Return who changed what will run, and why."""
    action = names.action(line)
    who, why = names.person(str(line.content.get("by") or "ckptsite")), str(line.content.get("reason") or "")
    what = _called(action, names) if action else "the arguments"
    title = f"Changed by {'you' if who == 'You' else who}: {what}"
    return Said(title=title, icon="pencil", tone=ASK, side=PERSON, who=who, text=why, action=action)
