"""The plan form: the steps as JSON text, the version that was seen, and why they change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runs import exact

LONGEST = 4_000


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form as it was sent; `errors` by field name, "" is the whole form."""

    base: int
    text: str
    reason: str
    steps: Any = None
    errors: dict[str, str] = field(default_factory=dict)


def read(post: Mapping[str, str]) -> Given:
    """Return what was sent, with one sentence for each field that can't stay so."""
    text, reason = post.get("steps", ""), post.get("reason", "").strip()
    base = post.get("base", "")
    errors: dict[str, str] = {}
    steps: Any = None
    try:
        steps = exact.parse(text)
    except exact.NotExact as error:
        errors["steps"] = str(error)
    if not reason:
        errors["reason"] = "Say why the plan changes; the reason stays with the version."
    elif len(reason) > LONGEST:
        errors["reason"] = f"This is too long: {len(reason):,} characters; at most {LONGEST:,} are kept."
    return Given(
        base=int(base) if base.isascii() and base.isdigit() and len(base) < 10 else -1,
        text=text,
        reason=reason,
        steps=steps,
        errors=errors,
    )
