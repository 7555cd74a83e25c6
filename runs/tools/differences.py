"""What is different between two versions of what a run uses, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_PARTS: dict[str, str] = {
    "version": "version",
    "effect": "effect",
    "protection": "protection against doing it twice",
    "tier": "tier",
    "identity": "identity (what makes it the same action)",
    "decisive": "decisive arguments",
}


def contracts(tool: str, old: Mapping[str, Any] | None, new: Mapping[str, Any] | None) -> Iterator[str]:
    """Yield one sentence for each difference between two contracts of a tool; None is a tool that isn't installed."""
    if old is None and new is None:
        return
    if new is None:
        yield f"The tool {tool} is no longer installed."
        return
    if old is None:
        yield f"The tool {tool}, which was not installed, is there now."
        return
    for part, words in _PARTS.items():
        if old.get(part) != new.get(part):
            yield f"{tool}: its {words} was {_said(old.get(part))} and is {_said(new.get(part))} now."
    found = list(_schemas(old.get("schema") or {}, new.get("schema") or {}))
    yield from (f"{tool}: {sentence}" for sentence in found)
    if not found and old.get("schema") != new.get("schema"):
        yield f"{tool}: its arguments are checked differently."


def providers(old: str, new: str) -> Iterator[str]:
    """Yield what is different about the provider; an empty name is one that isn't installed."""
    if old and not new:
        yield f"The provider {old} is no longer installed."
    elif old != new:
        yield f"The provider {new}, which was not installed, is there now."


def plans(old: int, new: int) -> Iterator[str]:
    """Yield what is different about the format of plans."""
    if old != new:
        yield f"The plan is kept in format {old}; this version of ckptsite works with format {new}."


def _schemas(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[str]:
    before, after = old.get("properties") or {}, new.get("properties") or {}
    needed_before, needed_after = set(old.get("required") or ()), set(new.get("required") or ())
    for name in sorted(before.keys() - after.keys()):
        yield f"the argument {name!r} is gone."
    for name in sorted(after.keys() - before.keys()):
        yield f"there is a new argument {name!r}{', which is needed' if name in needed_after else ''}."
    for name in sorted(before.keys() & after.keys()):
        if before[name] != after[name]:
            was, now = _rule(before[name]), _rule(after[name])
            yield f"the argument {name!r} is checked differently: {was} before, {now} now."
        elif (name in needed_before) != (name in needed_after):
            yield f"the argument {name!r} is {'needed' if name in needed_after else 'optional'} now."


def _rule(schema: Any) -> str:
    """Return the rules of one argument, shortened."""
    if not isinstance(schema, Mapping):
        return str(schema)
    text = ", ".join(f"{key} {_said(value)}" for key, value in sorted(schema.items())) or "anything"
    return text if len(text) <= 160 else f"{text[:159]}…"


def _said(value: Any) -> str:
    if value is None:
        return "not declared"
    if isinstance(value, list | tuple):
        return ", ".join(str(item) for item in value) or "none"
    return str(value)
