"""What the administrator lets the built-in tools reach: the file of CKPTSITE_TOOLS, checked. Nothing is on by itself.

Passwords and tokens may stand there as `secret://NAME`; then they are filled in by the worker like any other secret.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import unquote, urlsplit

import pydantic
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from runs.tools import contract

SECRET = "secret://"  # noqa: S105  how a reference begins
Hours = Annotated[int, pydantic.Field(ge=1, le=24 * 365)]
_HOST = re.compile(r"(\*|(\*\.)?[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?)\Z")


def _host(value: str) -> str:
    if not _HOST.match(value):
        raise ValueError("must be a host such as api.example.com, *.example.com, or * for any")
    return value


Host = Annotated[str, pydantic.AfterValidator(_host)]


class _Part(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(extra="forbid", frozen=True)


class Http(_Part):
    """Which hosts may be asked, which may be written to, and which do one Idempotency-Key once, for how many hours."""

    read: tuple[Host, ...] = ()
    write: tuple[Host, ...] = ()
    once: dict[Host, Hours] = {}
    tier: Literal[2, 3] = 3


Name = Annotated[str, pydantic.Field(pattern=r"^[a-z0-9][a-z0-9_-]{0,39}$")]


def _folder(value: Path) -> Path:
    if not value.is_absolute():
        raise ValueError("must be a whole path, from / on")
    return value


Folder = Annotated[Path, pydantic.AfterValidator(_folder)]


class Workspace(_Part):
    """A folder in which agents may read files, and with `write` also change them."""

    folder: Folder
    write: bool = False


def _database(value: str) -> str:
    if value and not value.startswith(("postgresql://", "sqlite:////")):
        raise ValueError("must begin with postgresql:// or sqlite:////")
    return value


Database = Annotated[str, pydantic.AfterValidator(_database)]


class Connection(_Part):
    """A database that may be asked at `url`, and changed at `write_url`: best two roles, of which one can't write.

    With `rehearse` a change is tried in a transaction that is rolled back, to show the rows. Triggers and functions run
    then, and what they do outside the transaction stays.
    """

    url: Database
    password: str = ""
    write_url: Database = ""
    write_password: str = ""
    rehearse: bool = False


class Repository(_Part):
    """A git repository with its files; with `write` agents commit and branch, with `push` (an address) push."""

    folder: Folder
    write: bool = False
    push: str = pydantic.Field(default="", pattern=r"^(|(https://|ssh://|/)[^\s]+)$")
    user: str = "git"
    token: str = ""
    author: str = pydantic.Field(default="ckptsite <ckptsite@localhost>", pattern=r"^[^<>\n]+ <[^<>\s]+>$")


class Slack(_Part):
    """A bot's token, and the channels (ids) that it may post to; with `history` it can look messages up there."""

    token: str = ""
    channels: dict[Name, Annotated[str, pydantic.Field(pattern=r"^[A-Z0-9]{6,20}$")]] = {}
    history: bool = False


class Webhook(_Part):
    """Where signed requests go; `once` for so many hours the receiver does one webhook-id once."""

    url: str
    secret: str
    once: Hours | None = None


_LOOPBACK = frozenset({"127.0.0.1", "localhost", "::1"})


def _mailbox(value: str) -> str:
    parts = urlsplit(value)
    if value and (
        parts.scheme not in {"imap", "imaps"} or not parts.hostname or not parts.username or parts.password
    ):
        raise ValueError("must be a mailbox such as imaps://user@mail.example.com/Sent, without its password")
    if value and not unquote(parts.path).isascii():
        raise ValueError("names a mailbox with letters beyond ASCII, which can't be opened")
    if parts.scheme == "imap" and parts.hostname not in _LOOPBACK:
        raise ValueError("must begin with imaps://; imap:// is for this machine itself")
    return value


class Email(_Part):
    """Where letters that a mail server took are found: a mailbox that it files them in by itself, or to which a `copy`
    of each goes in the same transaction; after `settle` seconds a letter that isn't there was not taken.
    """

    sent: Annotated[str, pydantic.AfterValidator(_mailbox)] = ""
    password: str = ""
    copy_to: str = pydantic.Field(default="", alias="copy", pattern=r"^(|[^@\s,;<>]+@[^@\s,;<>]+)$")
    settle: int = pydantic.Field(default=300, ge=1, le=86_400)


class Sandbox(_Part):
    """In which workspaces programs may run, and how much of the machine each may use: seconds, MB, kB of output."""

    workspaces: tuple[Name, ...] = ()
    seconds: int = pydantic.Field(default=60, ge=1, le=600)
    memory: int = pydantic.Field(default=512, ge=32, le=16_384)
    output: int = pydantic.Field(default=200, ge=1, le=800)


class Tools(_Part):
    """The whole file."""

    email: Email = Email()
    http: Http = Http()
    files: dict[Name, Workspace] = {}
    sql: dict[Name, Connection] = {}
    git: dict[Name, Repository] = {}
    slack: Slack = Slack()
    webhooks: dict[Name, Webhook] = {}
    sandbox: Sandbox = Sandbox()

    @pydantic.model_validator(mode="after")
    def _there(self) -> Self:
        for name in self.sandbox.workspaces:
            if name not in self.files or not self.files[name].write:
                raise ValueError(f"sandbox: {name!r} is no workspace under [files] with write = true")
        return self


def tools() -> Tools:
    """Return what is configured; refuse (ImproperlyConfigured, one sentence) what can't be used."""
    try:
        return Tools.model_validate(settings.CKPTSITE_TOOLS)
    except pydantic.ValidationError as error:
        raise ImproperlyConfigured(f"CKPTSITE_TOOLS: {contract.describe(error)}") from error


def matches(host: str, allowed: Any) -> bool:
    """Return whether a host, with its port where it isn't the usual one, is among those that are allowed."""
    return any(one in {"*", host} or (one.startswith("*.") and host.endswith(one[1:])) for one in allowed)


def value(given: str, ctx: contract.Context) -> str:
    """Return a password or token of the file, filled in where it is a reference; DidNotHappen where it can't be."""
    if not given.startswith(SECRET):
        return given
    try:
        return ctx.secret(given.removeprefix(SECRET))
    except PermissionError as error:
        raise contract.DidNotHappen(str(error)) from error
