"""The tools by name: found once at start-up in the built-ins and each app's `tools.py`, and those of sources."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar

from django.apps import apps
from django.core import checks
from django.utils.module_loading import module_has_submodule

from runs.tools import contract, soundness, undo

BUILT_IN = (
    "runs.tools.files",
    "runs.tools.email",
    "runs.tools.file_reads",
    "runs.tools.file_changes",
    "runs.tools.http",
    "runs.tools.sql",
    "runs.tools.programs",
    "runs.tools.git_reads",
    "runs.tools.git_changes",
    "runs.tools.git_push",
    "runs.tools.slack",
    "runs.tools.webhooks",
    "runs.tools.memory",
    "runs.tools.results",
)

Kind = TypeVar("Kind", bound=type[contract.Tool])

_tools: dict[str, contract.Tool] = {}


@dataclass(frozen=True, kw_only=True)
class Off:
    """A built-in tool that nobody has configured, and what turns it on, in one sentence."""

    kind: type[contract.Tool]
    how: str


_off: dict[str, Off] = {}


class Source(Protocol):
    """Tools that are known only while the site runs; their names are none of the installed ones'."""

    def find(self, name: str) -> contract.Tool | None:
        """Return the tool of this name, if there is one."""
        ...

    def all(self) -> tuple[contract.Tool, ...]:
        """Return all of them."""
        ...

    def longest_timeout(self) -> float:
        """Return the longest time in seconds that one call of them may take, known at start-up."""
        ...


_sources: list[Source] = []


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


def offer(kind: type[contract.Tool], *, on: bool, how: str, **declared: object) -> None:
    """Add a built-in tool if it is configured (`on`), else remember what would turn it on.

    `declared` is what its declaration owes to the configuration.
    """
    if declared:
        same = {"__module__": kind.__module__, "__qualname__": kind.__qualname__, "__doc__": kind.__doc__}
        kind = type(kind.__name__, (kind,), same | declared)
    if on:
        register(kind)
    else:
        soundness.complete(kind)
        _off[kind.name] = Off(kind=kind, how=how)


def off() -> tuple[Off, ...]:
    """Return the built-in tools that are off, by name."""
    return tuple(one for _, one in sorted(_off.items()))


def get(name: str) -> contract.Tool:
    """Return the tool called `name`; refuse (UnknownTool) a name that isn't in the list."""
    try:
        return _tools[name]
    except KeyError:
        found = next((tool for source in _sources if (tool := source.find(name)) is not None), None)
        if found is None:
            raise UnknownTool(f"There is no tool {name!r}.") from None
        return found


def undo_of(name: str) -> contract.Tool | None:
    """Return the tool that takes back effects of the tool called `name`; None where nothing does."""
    found = _tools.get(name + undo.SUFFIX)
    return found if isinstance(found, undo.Undo) else None


def check_steps(definition: Mapping[str, Any]) -> None:
    """Refuse (ValueError, one sentence that names the step) what a plan wants of a tool that it can't do.

    Nobody can be asked before what only reads, and nothing takes back what has no undo.
    """
    for step in definition.get("steps") or ():
        name = str(step.get("tool") or "")
        if name and step.get("gate") and get(name).risk() == 0:
            raise ValueError(f"Step {step['id']!r}: {name!r} only reads, so nobody can be asked before it.")
        if name and step.get("compensate") and undo_of(name) is None:
            raise ValueError(
                f"Step {step['id']!r}: nothing takes back what {name!r} did, so it can't be compensated."
            )


def look_in(source: Source) -> None:
    """Look for tools in this source too, when none of the installed ones has the name."""
    if source not in _sources:
        _sources.append(source)


def all() -> tuple[contract.Tool, ...]:
    """Return every tool, by name."""
    found = (*_tools.values(), *(tool for source in _sources for tool in source.all()))
    return tuple(sorted(found, key=lambda tool: tool.name))


def longest_timeout() -> float:
    """Return the longest time in seconds that a tool declares for one call of it, 0.0 if none declares any."""
    installed = (tool.timeout.total_seconds() for tool in _tools.values() if tool.timeout)
    return max((*installed, *(source.longest_timeout() for source in _sources)), default=0.0)


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
    return [message for _, tool in sorted(_tools.items()) for message in soundness.problems(type(tool))]


def _place(kind: type[contract.Tool]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}"
