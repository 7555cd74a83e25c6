"""Which secrets arguments name, as `secret://name`, and whether they may be filled in there; no value is read here."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from runs import models
from runs.tools import undo
from runs.transitions import secrets
from runs.transitions.refusals import Invalid

REFERENCE = re.compile(rf"secret://({secrets.NAME.pattern})")
Place = tuple[str, ...]


def refusal(arguments: Any, *, agent: str, tool: str) -> str:
    """Return why what these arguments name may not be filled in, in one sentence, or an empty text."""
    for path, name in named(arguments):
        row = models.Secret.objects.filter(name=name).first()
        if row is None:
            return f"There is no secret named {name!r}."
        if not allowed(row, agent=agent, tool=tool, path=path):
            return not_allowed(name, agent, tool, path)
    return ""


def check(arguments: Any, *, run: models.Run, tool: str) -> None:
    """Refuse (Invalid) arguments that a person has typed and that name a secret which may not be filled in there."""
    if any(named(arguments)):
        why = refusal(arguments, agent=run.agent_version.agent.name, tool=tool)
        if why:
            raise Invalid(why)


def named(found: Any, path: Place = ()) -> Iterator[tuple[Place, str]]:
    """Return each secret that is named, with where in the arguments."""
    if isinstance(found, str):
        if match := REFERENCE.fullmatch(found):
            yield path, match[1]
    elif isinstance(found, dict):
        for key, one in found.items():
            yield from named(one, (*path, str(key)))
    elif isinstance(found, list):
        for one in found:
            yield from named(one, path)


def allowed(row: models.Secret, *, agent: str, tool: str, path: Place) -> bool:
    """Return whether this agent may have the secret filled in here."""
    name, argument = _place(tool, path)
    return any(who in {agent, "*"} and what in {name, f"{name}:{argument}"} for who, what in row.uses)


def not_allowed(name: str, agent: str, tool: str, path: Place) -> str:
    """Return the sentence that says so."""
    tool, argument = _place(tool, path)
    where = f"{tool}, argument {argument}" if argument else tool
    return f"The agent {agent} may not use secret://{name} in {where}; an administrator can allow it."


def _place(tool: str, path: Place) -> tuple[str, str]:
    """Return tool and argument that a reference stands in; an undo's are those of what it takes back."""
    if tool.endswith(undo.SUFFIX):
        tool, path = tool.removesuffix(undo.SUFFIX), path[1:]
    return tool, path[0] if path else ""
