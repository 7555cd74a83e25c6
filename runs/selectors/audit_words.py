"""Lines of the audit trail in words: what was done, to what, and what was before and after. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runs import differences, exact
from runs.selectors.audit_acts import ACTS as ACTS
from runs.selectors.audit_acts import TRIED as TRIED

CODES: dict[str, str] = {
    "not_yours": "Not theirs",
    "no_group": "In no group",
    "not_there": "Not there, or not to be seen",
    "invalid": "Didn't fit",
    "stale": "Too late",
    "forged": "Form from elsewhere",
    "wrong": "Wrong name, password or code",
    "too_many": "Too many tries",
    "unproven": "Asked who they are",
    "unknown": "Nobody known here",
    "more": "More than are listed",
}
CHANNELS: dict[str, str] = {
    "page": "page",
    "shell": "command line",
    "api": "API",
    "slack": "Slack",
    "clock": "clock",
    "engine": "engine",
}
_LABELS: dict[str, str] = {
    "reason": "Reason",
    "revision": "Revision",
    "digest": "Digest",
    "receipt": "Receipt",
    "amount": "Amount",
    "value": "Value",
    "version": "Version",
    "to": "To",
    "note": "Note",
    "until": "Until",
    "input": "Input",
    "agent": "Agent",
    "switch": "What",
    "words": "Fields",
    "shown": "What they showed",
    "factor": "Factor",
    "from": "From",
}
_HIDDEN = frozenset(
    {"before", "after", "review", "kind", "answer", "epoch", "root", "path", "mode", "position", "checkpoint",
     "overtaken", "earlier", "first", "last", "supersedes", "since"}
)  # fmt: skip
_SHORT = 400


@dataclass(frozen=True, kw_only=True)
class Line:
    """One fact of a line."""

    label: str
    value: str
    digest: bool = False


@dataclass(frozen=True, kw_only=True)
class Change:
    """One thing that is otherwise now."""

    place: str
    before: str
    after: str


def act(name: str) -> str:
    """Return what was done."""
    return ACTS.get(name) or name.replace(".", ": ").replace("_", " ")


def tried(name: str) -> str:
    """Return what somebody wanted to do."""
    page = name.partition("page.")[2]
    return TRIED.get(name) or (f"The page “{page}”" if page else name.replace(".", ": ").replace("_", " "))


def facts(content: Mapping[str, Any]) -> tuple[Line, ...]:
    """Return what the line says beside before and after, in its own order; long texts cut, since all of it follows."""
    return tuple(
        Line(
            label=_LABELS.get(name, name.replace("_", " ").capitalize()),
            value=_anchored(value) if name == "runs" else _text(value),
            digest=_is_digest(value),
        )
        for name, value in content.items()
        if name not in _HIDDEN and value not in ("", None, [], {})
    )


def changes(content: Mapping[str, Any]) -> tuple[Change, ...]:
    """Return what differs between before and after, where the line says it."""
    if "before" not in content and "after" not in content:
        return ()
    before = content.get("before")
    other = content.get("version") if isinstance(before, int) else content.get("digest")  # like beside like
    return tuple(_changes(before, content.get("after", other)))


def _changes(before: Any, after: Any) -> Iterator[Change]:
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for found in differences.between(before, after):
            parts = [_text(exact.stored(side)) if side else "" for side in (found.before, found.after)]
            yield Change(place=found.place, before=parts[0], after=parts[1])
    elif before != after:
        yield Change(place="", before=_text(before), after=_text(after))


def _anchored(value: Any) -> str:
    """Return runs with how far their logs are vouched for, in words; each is [run, line, digest]."""
    if not isinstance(value, list) or not all(isinstance(one, list) and len(one) == 3 for one in value):
        return _text(value)
    return _text(", ".join(f"run {run} up to line {line}" for run, line, _ in value))


def _is_digest(value: Any) -> bool:
    return exact.is_digest(value)


def _text(value: Any) -> str:
    if value is None:
        return ""
    text = value if isinstance(value, str) else exact.canonical(value, limit=None)
    return text if len(text) <= _SHORT else f"{text[:_SHORT]}…"
