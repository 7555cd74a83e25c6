"""What pages say about a tool: its declared facts, by name; a tool that is gone is no error here."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from runs import models
from runs.models import scopes
from runs.selectors import page_models
from runs.tools import contract, registry

SHORT = 120

_EFFECTS = {
    contract.Effect.READ: "only reads",
    contract.Effect.REVERSIBLE: "changes something that can be put back",
    contract.Effect.IRREVERSIBLE: "can't be taken back",
}
_PROTECTIONS = {
    contract.Protection.IDEMPOTENT: "The other side does it once, however often it is asked.",
    contract.Protection.LOOKUP: "ckptsite can look up whether it happened.",
    contract.Protection.UNPROTECTED: "If the answer is lost, only a person can find out.",
}


def find(name: str) -> contract.Tool | None:
    """Return the tool, or None if it is no longer installed."""
    try:
        return registry.get(name)
    except registry.UnknownTool:
        return None


def everything() -> tuple[contract.Tool, ...]:
    """Return every installed tool, by name."""
    return registry.all()


def seen(user: models.User) -> tuple[contract.Tool, ...]:
    """Return those that agents in the person's scope have; one query, and none without a limit."""
    there = scopes.told_of(user)
    return tuple(tool for tool in everything() if there(f"tool:{tool.name}"))


def title(name: str) -> str:
    """Return the tool's name for people."""
    tool = find(name)
    return tool.title if tool and tool.title else name


def verifies(name: str) -> bool:
    """Return whether effects of the tool can be read back."""
    tool = find(name)
    return tool is not None and tool.verifies()


def decisive(name: str) -> tuple[str, ...]:
    """Return the arguments that a reviewer must look at."""
    tool = find(name)
    return tuple(tool.decisive) if tool else ()


def telling(name: str) -> tuple[str, ...]:
    """Return the arguments that tell one use of the tool from another: the decisive ones and its identity."""
    tool = find(name)
    return tuple(dict.fromkeys((*tool.decisive, *(tool.identity or ())))) if tool else ()


def undoes(name: str) -> bool:
    """Return whether effects of the tool can be taken back."""
    return registry.undo_of(name) is not None


def looks_up(name: str) -> bool:
    """Return whether the tool can find out by itself whether something happened."""
    tool = find(name)
    return tool is not None and tool.protection == contract.Protection.LOOKUP


def effect_words(effect: str, *, tool: str) -> str:
    """Return what the tool was declared to do to the world."""
    if effect == contract.Effect.IRREVERSIBLE and undoes(tool):
        return "leaves something for good, which only another action can balance"
    return _EFFECTS.get(contract.Effect(effect), effect) if effect in set(contract.Effect) else effect


def protection_words(protection: str) -> str:
    """Return how an unknown outcome would be resolved."""
    known = protection in set(contract.Protection)
    return _PROTECTIONS[contract.Protection(protection)] if known else protection


def lost_words(tool: contract.Tool) -> str:
    """Return what happens when the tool's answer is lost."""
    return "It is read again." if tool.effect == contract.Effect.READ else protection_words(tool.protection)


def label(name: str) -> str:
    """Return an argument's name for people."""
    return name.replace("_", " ").strip().capitalize()


def plain(value: Any) -> str:
    """Return a value as one text: strings as they are, the rest as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def short(text: str, limit: int = SHORT) -> str:
    """Return the text, cut with a mark where it is longer than `limit`."""
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def facts(arguments: Any, names: Iterable[str], *, limit: int | None = SHORT) -> tuple[page_models.Fact, ...]:
    """Return the named arguments as facts, in the tool's own order."""
    if not isinstance(arguments, Mapping):
        return ()
    return tuple(
        page_models.Fact(
            label=label(name),
            value=short(plain(arguments[name]), limit) if limit else plain(arguments[name]),
            decisive=True,
        )
        for name in names
        if name in arguments
    )
