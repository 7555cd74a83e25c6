"""The tools by name: a closed list, found once at start-up in the built-ins and in each app's `tools.py`."""

from __future__ import annotations

import importlib
from typing import TypeVar

from django.apps import apps
from django.core import checks
from django.utils.module_loading import module_has_submodule

from runs.tools import contract, soundness, undo

BUILT_IN = ("runs.tools.files", "runs.tools.email")

Kind = TypeVar("Kind", bound=type[contract.Tool])

_tools: dict[str, contract.Tool] = {}


class UnknownTool(LookupError):
    """There is no tool of this name; the message is one sentence."""


class DuplicateTool(RuntimeError):
    """Two tools have the same name; the message names both."""


def register(kind: Kind) -> Kind:
    """Add a tool, and its undo if it has one; return its class, so that it works as a decorator.

    Refuses (DuplicateTool) a name that another class has, and (TypeError) a class that declares too little.
    """
    soundness.complete(kind)
    known = _tools.get(kind.name)
    if known is not None and _place(type(known)) != _place(kind):
        raise DuplicateTool(
            f"The tool {kind.name!r} is defined by {_place(type(known))} and by {_place(kind)}."
        )
    _tools[kind.name] = tool = kind()
    if undo.can(kind):
        register(undo.adapter(tool))
    return kind


def get(name: str) -> contract.Tool:
    """Return the tool called `name`; refuse (UnknownTool) a name that isn't in the list."""
    try:
        return _tools[name]
    except KeyError:
        raise UnknownTool(f"There is no tool {name!r}.") from None


def undo_of(name: str) -> contract.Tool | None:
    """Return the tool that takes back effects of the tool called `name`; None where nothing does."""
    found = _tools.get(name + undo.SUFFIX)
    return found if isinstance(found, undo.Undo) else None


def all() -> tuple[contract.Tool, ...]:
    """Return every tool, by name."""
    return tuple(tool for _, tool in sorted(_tools.items()))


def longest_timeout() -> float:
    """Return the longest time in seconds that a tool declares for one call of it, 0.0 if none declares any."""
    return max((tool.timeout.total_seconds() for tool in _tools.values() if tool.timeout), default=0.0)


def autodiscover() -> None:
    """Import the built-in tools and the `tools` module of every installed app."""
    for name in BUILT_IN:
        importlib.import_module(name)
    for config in apps.get_app_configs():
        if config.module is not None and module_has_submodule(config.module, "tools"):
            importlib.import_module(f"{config.name}.tools")


@checks.register("ckptsite")
def check(app_configs: object, **options: object) -> list[checks.CheckMessage]:
    """Return what is unsafe about the registered tools, for `manage.py check`."""
    return [message for tool in all() for message in soundness.problems(type(tool))]


def _place(kind: type[contract.Tool]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
