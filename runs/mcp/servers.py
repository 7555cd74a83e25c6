"""Which MCP servers there are: a JSON file as other clients of the protocol read it too, read once a process.

It is a file and no page, since a server's command line is code that the worker runs. Beside the usual keys a server may
have `tools`: what the operator says of single ones, where the server's own annotations are only hints.
"""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Annotated, Literal

import pydantic
from django.conf import settings
from django.core import checks

from runs.tools import contract

NAME = r"[a-z0-9][a-z0-9_-]{0,39}"


class BadServers(ValueError):
    """The file can't be used; one sentence."""


class Said(pydantic.BaseModel):
    """What the operator says of one tool. What isn't said is the most careful: final, unprotected, asked each time."""

    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)

    effect: contract.Effect = contract.Effect.IRREVERSIBLE
    tier: Annotated[int, pydantic.Field(ge=0, le=3)] | None = None
    again_is_harmless: bool = False
    """The same call again, with the same arguments, does nothing more: an unknown outcome may be sent again."""
    errors_prove_nothing_done: bool = False
    """An error that the tool answers means that nothing was done; else only a person knows."""
    identity: tuple[str, ...] | None = None
    decisive: tuple[str, ...] = ()
    seconds: Annotated[float, pydantic.Field(gt=0, le=600)] = 60
    asks: bool = False
    """What it asks a person meanwhile may be answered: a further argument brings what people have said."""


class Server(pydantic.BaseModel):
    """One server: a command that is started and spoken to over its standard streams, or an address."""

    model_config = pydantic.ConfigDict(extra="ignore", frozen=True)

    command: str = ""
    args: tuple[str, ...] = ()
    env: dict[str, str] = pydantic.Field(default_factory=dict)
    cwd: str | None = None
    url: str = ""
    headers: dict[str, str] = pydantic.Field(default_factory=dict)
    tools: dict[str, Said] = pydantic.Field(default_factory=dict)
    type: Literal["stdio", "http", "streamable-http", ""] = ""

    @pydantic.model_validator(mode="after")
    def _one_way(self) -> Server:
        if bool(self.command) == bool(self.url):
            raise ValueError("a server has either a command or a url")
        if self.url and not self.url.startswith(("https://", "http://")):
            raise ValueError("a server's url begins with https:// or http://")
        return self

    def said(self, tool: str) -> Said:
        """Return what the operator says of a tool."""
        return self.tools.get(tool, Said())


class _File(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="ignore")

    mcpServers: dict[Annotated[str, pydantic.Field(pattern=rf"^{NAME}$")], Server]  # noqa: N815 the format's own name


def read(text: str) -> dict[str, Server]:
    """Return the servers by name; refuse (BadServers) with one sentence what isn't such a file."""
    try:
        return _File.model_validate(json.loads(text)).mcpServers
    except pydantic.ValidationError as error:
        raise BadServers(contract.describe(error)) from error
    except ValueError as error:
        raise BadServers(f"it is no JSON: {error}.") from error


def everything() -> dict[str, Server]:
    """Return the servers by name, none where no file is named; refuse (BadServers) a file that can't be used."""
    return _read(settings.CKPTSITE_MCP) if settings.CKPTSITE_MCP else {}


@functools.cache
def _read(path: str) -> dict[str, Server]:
    try:
        return read(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise BadServers(f"it can't be read: {error.strerror}.") from error


@checks.register("ckptsite")
def check(app_configs: object, **options: object) -> list[checks.CheckMessage]:
    """Return what is wrong with the file, for `manage.py check`."""
    try:
        everything()
    except BadServers as error:
        return [checks.Error(f"CKPTSITE_MCP={settings.CKPTSITE_MCP}: {error}", id="runs.E020")]
    return []
