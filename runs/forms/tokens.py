"""The form that makes a token, as it is drawn and as it was sent. What it may be for is the transition's business."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from django.http import QueryDict

from runs.forms import decisions

DEFAULT_KIND, DEFAULT_DAYS = "agent", 90


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form; `errors` by field name, "" is the whole form."""

    form: str
    name: str = ""
    kind: str = DEFAULT_KIND
    acts: tuple[str, ...] = ()
    days: int = DEFAULT_DAYS
    errors: dict[str, str] = field(default_factory=dict)


def blank() -> Given:
    """Return a form that nobody has filled in, with a single-use token of its own."""
    return Given(form=secrets.token_urlsafe(24), acts=("start",))


def read(post: QueryDict) -> Given:
    """Return what was sent, with one sentence for each field that can't stay so."""
    name, kind = post.get("name", "").strip(), post.get("kind", "")
    errors = {}
    if not name:
        errors["name"] = "Say what uses it, so that you know later which one to revoke."
    if not kind:
        errors["kind"] = "Choose who acts with it."
    return Given(
        form=post.get("form", "")[:64],
        name=name,
        kind=kind,
        acts=tuple(post.getlist("acts"))[:20],
        days=decisions.number(post.get("days", "")),
        errors=errors,
    )
