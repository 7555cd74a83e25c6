"""The edit form: the arguments as exact JSON, and why they are changed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runs import exact
from runs.forms import decisions

LONGEST = 1_000_000


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form as it was sent; `errors` by field name. `text` is what was typed, `arguments` its value."""

    text: str
    arguments: Any
    reason: str
    revision: int
    digest: str
    token: str
    errors: dict[str, str] = field(default_factory=dict)


def read(post: Mapping[str, str]) -> Given:
    """Return what was sent, with one sentence for each field that can't stay so."""
    text = post.get("arguments", "").replace("\r\n", "\n")
    reason = post.get("reason", "").replace("\r\n", "\n").strip()
    errors: dict[str, str] = {}
    arguments: Any = None
    try:
        arguments = exact.parse(text)
    except exact.NotExact as error:
        errors["arguments"] = str(error)
    if not reason:
        errors["reason"] = "Say why you change it; the agent and the auditors read the reason."
    elif len(reason) > decisions.LONGEST:
        errors["reason"] = (
            f"This is too long: {len(reason):,} characters; at most {decisions.LONGEST:,} are kept."
        )
    return Given(
        text=text,
        arguments=arguments,
        reason=reason,
        revision=decisions.number(post.get("revision", "")),
        digest=post.get("digest", "")[:64],
        token=post.get("token", "")[:64],
        errors=errors,
    )
