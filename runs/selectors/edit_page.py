"""The edit page: what is asked, its arguments as they stand, and whether they can be changed."""

from __future__ import annotations

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from runs import alignment, exact, lifecycle, models, patches, wording
from runs.selectors import check_models, deciding, inbox_rows, review_edits, review_likeness, tools

WORDS = re.compile(r"\S\s+\S")
"""Texts of several words are compared word by word."""


@dataclass(frozen=True, kw_only=True)
class EditPage:
    """One question about an action, as far as changing it needs it."""

    review_id: int
    run_id: int
    run_title: str
    title: str
    tool: str
    tool_title: str
    tier: int
    arguments: Any
    digest: str
    revision: int
    seen: str  # the digest of what is asked
    token: str
    blocked: str  # why nothing can be changed, in one sentence
    changes: tuple[check_models.Change, ...]


def page(review_id: int, viewer: deciding.Viewer) -> EditPage:
    """Return the edit page of a review that exists."""
    review = models.Review.objects.select_related("run", "action").get(pk=review_id)
    action = review.action
    arguments = action.arguments() if action is not None else {}
    return EditPage(
        review_id=review.pk,
        run_id=review.run_id,
        run_title=review.run.title,
        title=inbox_rows.effect_of(review),
        tool=action.tool if action else "",
        tool_title=tools.title(action.tool) if action else "",
        tier=review.tier,
        arguments=arguments,
        digest=action.digest if action else "",
        revision=review.revision,
        seen=review.digest,
        token=secrets.token_urlsafe(24),
        blocked=_blocked(review, action, arguments, viewer),
        changes=review_edits.changes(action),
    )


def _blocked(
    review: models.Review, action: models.Action | None, arguments: Any, viewer: deciding.Viewer
) -> str:
    if action is None or review.kind != lifecycle.ReviewKind.ACTION:
        return "There are no arguments to change in this question."
    if review.status != lifecycle.Review.OPEN:
        return "This is no longer asked, so nothing can be changed any more."
    if action.undo_of_id is not None:
        return "An undo takes back exactly what was done, so there is nothing to change in it."
    if action.attempt:
        return "This was sent before, so only the same may be sent again; reject it, and the agent can propose another."
    if exact.digest(exact.text_of(arguments)) != action.digest:
        return "The stored arguments no longer have the digest under which they were proposed. Nobody may change them."
    if review_edits.being_prepared(review, action):
        return (
            "This was changed just now. What will happen is being worked out; then it can be changed again."
        )
    if tools.find(action.tool) is None:
        return f"The tool {action.tool} is no longer installed."
    return deciding.blocked(review, viewer)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """One place that would be different; None where there is nothing. Texts are compared word by word."""

    place: str
    before: str | None
    after: str | None
    rows: tuple[wording.Row, ...] = ()


def shown(changes: Sequence[patches.Change]) -> tuple[Shown, ...]:
    """Return the differences for people, by path."""
    effort = alignment.Effort()
    return tuple(
        Shown(
            place=".".join(str(part) for part in change.path) or "everything",
            before=None if change.op == patches.ADD else _said(change.before),
            after=None if change.op == patches.REMOVE else _said(change.after),
            rows=wording.rows(change.before, change.after, effort=effort)
            if isinstance(change.before, str)
            and isinstance(change.after, str)
            and WORDS.search(change.before)
            and WORDS.search(change.after)
            else (),
        )
        for change in changes
    )


def _said(value: Any) -> str:
    return value if isinstance(value, str) and value else exact.canonical(value, limit=None)


@dataclass(frozen=True, kw_only=True)
class Tried:
    """A try of other arguments: not `done` yet, or what they would do, against what is asked now."""

    done: bool
    old: bool = False  # it was of other arguments
    problem: str = ""
    sentence: str = ""  # empty where the tool has no preview
    warnings: tuple[str, ...] = ()
    changes: tuple[Shown, ...] = ()
    asks: str = ""  # what policy would say
    digest: str = ""  # of the arguments, while it isn't done


def tried(review_id: int, viewer: deciding.Viewer, *, digest: str | None = None) -> Tried | None:
    """Return the person's newest try, or None; one of other arguments than those of `digest` is `old`."""
    row = models.Rehearsal.objects.filter(review=review_id, by=viewer.user).first()
    if row is None:
        return None
    if digest is not None and row.digest != digest:
        return Tried(done=True, old=True)
    found = row.shown
    if row.done_at is None or found.get("problem"):
        problem = str(found.get("problem") or "")
        return Tried(done=row.done_at is not None, problem=problem, digest=row.digest)
    before, after = found.get("before"), found.get("preview")
    if found.get("stands"):
        return Tried(
            done=True,
            sentence="Nothing more: just this is done already.",
            asks=f"{found['stands']} Saved, it is closed with that: nobody is asked, and nothing is done again.",
        )
    return Tried(
        done=True,
        sentence=str(after.get("summary") or "") if after else "",
        warnings=tuple(str(text) for text in after.get("warnings") or ()) if after else (),
        changes=shown(patches.changes(review_likeness.flat(before), review_likeness.flat(after)))
        if before and after
        else (),
        asks=_asks(found),
    )


def _asks(found: Any) -> str:
    if found["verdict"] == "deny":
        return f"The policy rule “{found['rule']}” forbids it, however it is changed."
    people = "one person" if found["quorum"] == 1 else f"{found['quorum']} people"
    return (
        f"Still asked about: {people} of the group {' or '.join(found['groups'])} would have to approve it."
    )
