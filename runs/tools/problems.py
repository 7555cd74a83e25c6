"""What of some arguments a tool doesn't take, place by place: the tool's own model is the only judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pydantic

from runs import exact
from runs.tools import contract

Path = tuple[str | int, ...]
FILE = frozenset({"path", "sha256"})


@dataclass(frozen=True, kw_only=True)
class Settled:
    """Arguments as they would be stored, or what is wrong with them: each place with one sentence."""

    value: Any = None
    problems: tuple[tuple[Path, str], ...] = ()


def settle(tool: contract.Tool, arguments: Any) -> Settled:
    """Return the arguments as the tool settles them, or everything that doesn't fit."""
    try:
        return Settled(value=exact.stored(tool.settled(arguments)))
    except contract.BadArguments as error:
        cause = error.__cause__
        if isinstance(cause, pydantic.ValidationError):
            found = cause.errors(include_url=False, include_input=False, include_context=False)
            return Settled(problems=tuple((one["loc"], f"{one['msg']}.".replace("..", ".")) for one in found))
        return Settled(problems=(((), str(error)),))


def locked(schema: Mapping[str, Any], before: Any, after: Any) -> str:
    """Return what may not be edited and is different, in one sentence, or an empty text.

    Files stay those that were proposed (one may be left out), and so does what the tool declares as read-only.
    """
    known = {_file(one) for one in _files(before)}
    for one in _files(after):
        if _file(one) not in known:
            return f"The file {one['path']!r} is not one that was proposed; files can't be exchanged here."
    properties = schema.get("properties")
    for name, part in (properties if isinstance(properties, Mapping) else {}).items():
        fixed = isinstance(part, Mapping) and part.get("readOnly") is True
        if fixed and _text(before, name) != _text(after, name):
            return f"{name!r} may not be changed."
    return ""


def _files(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if value.keys() == FILE:
            yield value
        for inner in value.values():
            yield from _files(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _files(inner)


def _file(value: Mapping[str, Any]) -> tuple[str, str]:
    return str(value["path"]), str(value["sha256"])


def _text(value: Any, name: str) -> str | None:
    given = isinstance(value, Mapping) and name in value
    return exact.canonical(value[name], limit=None) if given else None
