"""Filling in `secret://name`, in the worker, right before a tool runs; people, log and digests know the reference."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from django.db import DatabaseError

from runs import models, redaction
from runs.tools.contract import BadArguments, DidNotHappen, Tool
from runs.transitions import secret_names, secrets
from runs.transitions.refusals import Invalid
from runs.transitions.sealing import NoKey

Place = secret_names.Place


class NotFilledIn(Exception):
    """A secret can't be had here; one sentence, without its value."""


def filled(tool: Tool, args: Any, *, agent: str) -> Any:
    """Return the arguments with every secret filled in that they name. Refuses DidNotHappen: nothing was sent."""
    given = args.model_dump(mode="json")
    if not any(secret_names.named(given)):
        return args
    try:
        return tool.parse(_with_values(given, (), agent, tool.name))
    except NotFilledIn as error:
        raise DidNotHappen(str(error)) from None
    except BadArguments as error:
        raise DidNotHappen(redaction.clean(f"With its secrets filled in it doesn't fit: {error}")) from None
    except DatabaseError as error:
        raise DidNotHappen(
            f"Its secrets could not be read: {type(error).__name__}.", retryable=True
        ) from error


def value_of(name: str, *, agent: str, tool: str, path: Place = ()) -> str:
    """Return a secret's value, which from now on is taken out of what this process stores. Refuses NotFilledIn."""
    row = models.Secret.objects.filter(name=name).first()
    if row is None:
        raise NotFilledIn(f"There is no secret named {name!r}.")
    if not secret_names.allowed(row, agent=agent, tool=tool, path=path):
        raise NotFilledIn(secret_names.not_allowed(name, agent, tool, path))
    try:
        value = _read(row)
        secrets.check_value(value)
    except (NoKey, Invalid, OSError, UnicodeDecodeError) as error:
        why = error.message if isinstance(error, Invalid) else str(error) if isinstance(error, NoKey) else ""
        raise NotFilledIn(f"secret://{name} can't be read here. {why}".strip()) from None
    redaction.know(name, value)
    secrets.used(row)
    return value


def _read(row: models.Secret) -> str:
    match row.source:
        case models.Secret.Source.ENVIRONMENT:
            return os.environ.get(row.place, "")
        case models.Secret.Source.FILE:
            return Path(row.place).read_text(encoding="utf-8").removesuffix("\n")
    return secrets.opened(row)


def _with_values(found: Any, path: Place, agent: str, tool: str) -> Any:
    if isinstance(found, str):
        match = secret_names.REFERENCE.fullmatch(found)
        return value_of(match[1], agent=agent, tool=tool, path=path) if match else found
    if isinstance(found, dict):
        return {key: _with_values(one, (*path, str(key)), agent, tool) for key, one in found.items()}
    if isinstance(found, list):
        return [_with_values(one, path, agent, tool) for one in found]
    return found
