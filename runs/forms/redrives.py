"""The form to go on from a checkpoint: what becomes of earlier effects, and what else is corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from runs import exact
from runs.forms import amounts
from runs.measures import NOUNS, tool
from runs.selectors import redrive_models

EFFECT, CALL, RAISE = "effect.", "call.", "raise."
TRY_OUT = "try_out"
"""The verb for a dry run beside it. It changes nothing, so it may go without a reason."""


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form as it was sent; `errors` by field name, "" is the whole form."""

    checkpoint: int | None
    seen: int | None
    verb: str
    reason: str
    token: str
    dispositions: dict[int, str]
    arguments: dict[tuple[int, int], Any]
    raises: dict[str, int]
    instructions: str | None
    hold: bool
    errors: dict[str, str] = field(default_factory=dict)


def read(post: Mapping[str, str], calls: Sequence[redrive_models.OpenCall]) -> Given:
    """Return what was sent; `calls` are the open ones as the form showed them."""
    errors: dict[str, str] = {}
    if post.get("verb") != TRY_OUT and not post.get("reason", "").strip():
        errors["reason"] = "Say why it goes on from there; the reason stays in its record."
    return Given(
        checkpoint=number(post.get("checkpoint")),
        seen=number(post.get("seen")),
        verb=post.get("verb", ""),
        reason=post.get("reason", ""),
        token=post.get("token", ""),
        dispositions={
            effect: value
            for name, value in post.items()
            if name.startswith(EFFECT) and (effect := number(name.removeprefix(EFFECT))) is not None
        },
        arguments=_arguments(post, calls, errors),
        raises=_raises(post, errors),
        instructions=post.get("instructions"),
        hold="plan" in post,
        errors=errors,
    )


def number(text: str | None) -> int | None:
    """Return a number of a form, or None for what isn't one."""
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else None


def _arguments(
    post: Mapping[str, str], calls: Sequence[redrive_models.OpenCall], errors: dict[str, str]
) -> dict[tuple[int, int], Any]:
    """Return the arguments that were typed otherwise, by call: the JSON, and over it the texts of fields."""
    found = {}
    for call in calls:
        text = post.get(call.name, call.shown)
        texts = {
            field.name.removeprefix(f"{call.name}."): typed
            for field in call.fields
            if (typed := post.get(field.name, field.value).replace("\r\n", "\n")) != field.value
        }
        before = exact.parse(call.shown, limit=None)
        try:
            value = exact.parse(text)
        except exact.NotExact as error:
            errors[call.name] = str(error)
            continue
        if exact.digest_of(value) == exact.digest_of(before) and not texts:
            continue
        if texts and not isinstance(value, Mapping):
            errors[call.name] = 'The arguments are an object: {"name": value}.'
            continue
        position, _, index = call.name.removeprefix(CALL).partition("-")
        found[int(position), int(index)] = {**value, **texts} if texts else value
    return found


def _raises(post: Mapping[str, str], errors: dict[str, str]) -> dict[str, int]:
    found = {}
    named = [name.removeprefix(RAISE) for name in post if name.startswith(RAISE)]
    for measure in [name for name in named if name in NOUNS or tool(name)]:
        text = post.get(f"{RAISE}{measure}", "").strip()
        if not text:
            continue
        amount = amounts.read(text, measure=measure)
        if amount is None:
            errors[f"{RAISE}{measure}"] = amounts.wanted(measure)
        else:
            found[measure] = amount
    return found
