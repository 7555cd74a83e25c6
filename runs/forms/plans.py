"""The plan form: a draft of the steps as JSON text, one step's fields where they are open, and what to do with it.

The text is the draft: each button sends it, changes it, and gets it back. Nothing is saved before "save".
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from runs import exact, plan_changes
from runs.forms import plan_fields, plan_moves
from runs.selectors import plan_draft

LONGEST = 4_000
SAVE, REBASE = "save", "rebase"
NEW_STEP = "New step"


def read(post: Mapping[str, str], *, locked: Collection[str], planned: bool) -> plan_draft.Draft:
    """Return the draft as it is after what was asked for; `draft.errors` says what can't stay so, by field.

    `locked` are the steps that have started. `planned` says that each step has to bind a tool.
    """
    draft, verb, name = _sent(post)
    if draft.steps is None:
        return draft
    if draft.opened and verb != "discard":
        draft = _filled_in(draft, plan_fields.typed(post), locked)
        if draft.errors:
            return draft
    if verb in {SAVE, REBASE}:
        return draft
    steps = list(draft.steps or ())
    if verb in plan_moves.MOVES:
        done = plan_moves.MOVES[verb](steps, name, locked)
    elif verb == "insert":
        body: dict[str, Any] = {"tool": "", "with": {}} if planned else {"note": ""}
        new = {"id": plan_moves.free_id(steps, draft.base), "title": NEW_STEP, "body": body}
        done = plan_moves.insert(steps, name, locked, new=new)
    elif verb == "order":
        done = plan_moves.order(steps, post.get("order", "").split("\n"), locked)
    else:
        done = plan_moves.Done(steps=steps, at=draft.opened)
    return replace(
        draft,
        steps=tuple(done.steps),
        text=plan_draft.as_text(done.steps),
        opened=done.opened,
        at=done.at,
        said=done.said,
        typed={},
    )


def number(text: str) -> int:
    """Return a version's number, or one that no version has."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1


def verb_of(post: Mapping[str, str]) -> str:
    """Return what is to be done with the draft."""
    return post.get("do", SAVE).partition(":")[0]


def check_reason(draft: plan_draft.Draft) -> plan_draft.Draft:
    """Return the draft with what is wrong with its reason; a version is never saved without one."""
    if not draft.reason:
        said = "Say why the plan changes; the reason stays with the version."
    elif len(draft.reason) > LONGEST:
        said = f"This is too long: {len(draft.reason):,} characters; at most {LONGEST:,} are kept."
    else:
        return draft
    return replace(draft, errors={**draft.errors, "reason": said})


def _sent(post: Mapping[str, str]) -> tuple[plan_draft.Draft, str, str]:
    base, text = post.get("base", ""), post.get("steps", "")
    verb, _, name = post.get("do", SAVE).partition(":")
    draft = plan_draft.Draft(
        base=number(base),
        text=text,
        reason=post.get("reason", "").strip(),
        opened=post.get("opened", ""),
        typed=plan_fields.typed(post),
        as_json=post.get("tab") == "json" and verb in {SAVE, REBASE},
    )
    try:
        steps = _steps(exact.parse(text))
    except ValueError as error:  # NotExact is one
        return replace(draft, errors={"steps": str(error)}, as_json=True), verb, name
    return replace(draft, steps=steps), verb, name


def _steps(raw: Any) -> tuple[Mapping[str, Any], ...]:
    """Return the steps of the text; refuse (ValueError) what the editor couldn't draw. Saving checks the rest."""
    if not isinstance(raw, list):
        raise ValueError("A plan is a list of steps.")
    for number, step in enumerate(raw, start=1):
        if not isinstance(step, Mapping) or not isinstance(step.get("id"), str) or not step["id"]:
            raise ValueError(f"Step {number} needs an id.")
        if not plan_changes.is_id(step["id"]):
            raise ValueError(
                f"Step {number} needs an id of at most 120 characters, none of them NUL or half of one."
            )
        if not isinstance(step.get("title"), str) or not isinstance(step.get("body"), Mapping):
            raise ValueError(f"Step {step['id']!r} needs a title and a body.")
        if name := plan_changes.untypable(step):
            raise ValueError(f"Step {step['id']!r}: the {name} holds NUL or half a character.")
    twice = plan_changes.twice(step["id"] for step in raw)
    if twice is not None:
        raise ValueError(f"The step id {twice!r} stands twice.")
    return tuple(raw)


def _filled_in(
    draft: plan_draft.Draft, typed: Mapping[str, str], locked: Collection[str]
) -> plan_draft.Draft:
    """Return the draft with the open step's fields in it, or with what is wrong with them."""
    steps: Sequence[Mapping[str, Any]] = draft.steps or ()
    at = next((at for at, step in enumerate(steps) if step["id"] == draft.opened), None)
    if at is None or draft.opened in locked or not typed:
        return replace(draft, opened="")
    step, errors = plan_fields.apply(steps[at], typed)
    if errors:
        return replace(draft, errors=errors)
    changed = (*steps[:at], step, *steps[at + 1 :])
    text = draft.text if step == steps[at] else plan_draft.as_text(changed)
    return replace(draft, steps=changed, text=text)
