"""The form to go on from a checkpoint: what becomes of earlier effects, and what else is corrected."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runs import exact
from runs.forms import amounts
from runs.measures import Measure

EFFECT, CALL, RAISE = "effect.", "call.", "raise."


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


def read(post: Mapping[str, str], before: Mapping[str, str]) -> Given:
    """Return what was sent; `before` holds the arguments of the open calls as the form showed them, by field name."""
    errors: dict[str, str] = {}
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
        arguments=_arguments(post, before, errors),
        raises=_raises(post, errors),
        instructions=post.get("instructions"),
        hold="plan" in post,
        errors=errors,
    )


def number(text: str | None) -> int | None:
    """Return a number of a form, or None for what isn't one."""
    return int(text) if text is not None and text.isdecimal() and len(text) < 10 else None


def _arguments(
    post: Mapping[str, str], before: Mapping[str, str], errors: dict[str, str]
) -> dict[tuple[int, int], Any]:
    """Return the arguments that were typed otherwise, by call."""
    found = {}
    for name, shown in before.items():
        text = post.get(name)
        if text is None or text.split() == shown.split():
            continue
        position, _, index = name.removeprefix(CALL).partition("-")
        try:
            found[int(position), int(index)] = exact.parse(text)
        except exact.NotExact as error:
            errors[name] = str(error)
    return found


def _raises(post: Mapping[str, str], errors: dict[str, str]) -> dict[str, int]:
    found = {}
    for measure in Measure:
        text = post.get(f"{RAISE}{measure}", "").strip()
        if not text:
            continue
        amount = amounts.read(text, measure=measure)
        if amount is None:
            errors[f"{RAISE}{measure}"] = amounts.wanted(measure)
        else:
            found[str(measure)] = amount
    return found
