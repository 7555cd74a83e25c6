"""The forms about notices, as they were sent. What may be is the transitions' business."""

from __future__ import annotations

import datetime
import secrets
from dataclasses import dataclass, field

from django.http import QueryDict

from runs import telling
from runs.forms import decisions
from runs.net import guard


@dataclass(frozen=True, kw_only=True)
class Wished:
    """What a person chose; `errors` by field name. Times that can't be read stay as they were typed."""

    wish: telling.Wish
    quiet_from: str = ""
    quiet_until: str = ""
    errors: dict[str, str] = field(default_factory=dict)


def shown(wish: telling.Wish) -> Wished:
    """Return the form as it is drawn first."""
    start, end = wish.quiet_from, wish.quiet_until
    return Wished(
        wish=wish,
        quiet_from=start.strftime("%H:%M") if start else "",
        quiet_until=end.strftime("%H:%M") if end else "",
    )


def read(post: QueryDict) -> Wished:
    """Return what was sent, with one sentence for each field that can't stay so."""
    errors: dict[str, str] = {}
    times: dict[str, datetime.time | None] = {}
    for name in ("quiet_from", "quiet_until"):
        try:
            text = post.get(name, "").strip()
            times[name] = datetime.time.fromisoformat(text) if text else None
        except ValueError:
            times[name], errors[name] = None, "Write a time such as 22:00."
    zone = post.get("zone", "").strip()
    if zone and zone not in set(telling.zones()):
        errors["zone"] = "There is no such time zone; write one such as Europe/Berlin."
    if not errors and (times["quiet_from"] is None) != (times["quiet_until"] is None):
        errors["quiet_from"] = "Quiet hours have a beginning and an end; leave both empty for none."
    wish = telling.Wish(
        ways={row: {way: post.get(f"{row}-{way}", "") for way in telling.WAYS} for row in telling.ROWS},
        gather_hours=decisions.number(post.get("gather_hours", "")),
        zone=zone,
        quiet_from=times["quiet_from"],
        quiet_until=times["quiet_until"],
        final_anyway="final_anyway" in post,
    )
    return Wished(
        wish=wish,
        quiet_from=post.get("quiet_from", "")[:20],
        quiet_until=post.get("quiet_until", "")[:20],
        errors=errors,
    )


@dataclass(frozen=True, kw_only=True)
class Pointed:
    """A new endpoint, as it was sent."""

    form: str
    url: str = ""
    about: str = ""
    kinds: tuple[str, ...] = ()
    errors: dict[str, str] = field(default_factory=dict)


def blank() -> Pointed:
    """Return a form that nobody has filled in, with a single-use token of its own."""
    return Pointed(form=secrets.token_urlsafe(24))


def read_endpoint(post: QueryDict) -> Pointed:
    """Return what was sent; an address that leads inside is refused here already, and again at each try."""
    url, errors = post.get("url", "").strip(), {}
    try:
        guard.resolve(url)
    except (guard.Refused, LookupError) as refused:
        errors["url"] = str(refused)
    return Pointed(
        form=post.get("form", "")[:64],
        url=url,
        about=post.get("about", "").strip(),
        kinds=tuple(post.getlist("kinds"))[:50],
        errors=errors,
    )
