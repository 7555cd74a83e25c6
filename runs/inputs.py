"""Turning what a start form or a shell gives into a run's input, by the agent's input schema."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Q
from django.urls import reverse

from runs import models, rights
from runs.models import blob, scopes
from runs.transitions import starts
from runs.transitions.refusals import Invalid

TODAY = "today"
FIRST_YEAR, LAST_YEAR = 1990, 2200


class BadInput(ValueError):
    """What was given doesn't make an input; one sentence, and the field that it is about."""

    def __init__(self, message: str, *, field: str = "") -> None:
        super().__init__(message)
        self.field = field


def agent(name: str, user: models.User | None = None) -> models.Agent:
    """Return the agent; refuse (BadInput) a name that is unknown, or isn't for `user`, and list the others."""
    rows = models.Agent.objects.filter(scopes.seen(user, "pk"), current__isnull=False)
    found = rows.select_related("current").filter(name=name).first()
    if found is None:
        known = ", ".join(rows.order_by("name").values_list("name", flat=True)) or "none yet"
        raise BadInput(f"There is no agent named {name!r}. Known agents: {known}.", field="agent")
    return found


def file_field(chosen: models.Agent) -> str:
    """Return the name of the agent's file input; refuse (BadInput) an agent that takes no file."""
    assert chosen.current is not None
    properties: Mapping[str, Any] = chosen.current.input_schema.get("properties", {})
    for name, spec in properties.items():
        if spec.get("format") == "file":
            return name
    raise BadInput(f"The agent {chosen.name!r} takes no file.", field="input")


def collect(
    chosen: models.Agent, values: Mapping[str, str], files: Mapping[str, tuple[str, bytes]]
) -> dict[str, Any]:
    """Return the input, files kept by content. Refuse (BadInput) what is missing, unknown or not of its format."""
    assert chosen.current is not None
    schema = chosen.current.input_schema
    properties: Mapping[str, Any] = schema.get("properties", {})
    required = set(schema.get("required", []))
    for name in values:
        if name not in properties:
            raise BadInput(f"The agent {chosen.name!r} takes no input named {name!r}.", field=name)
    given: dict[str, Any] = {}
    for name, spec in properties.items():
        label = str(spec.get("title", name))
        if spec.get("format") == "file":
            if name in values:
                raise BadInput(f"{label}: this takes a file, not a text.", field=name)
            if name in files:
                given[name] = _file(label, name, *files[name])
            elif name in required:
                raise BadInput(f"{label}: choose a file.", field=name)
            continue
        text = values.get(name, "").strip() or default_of(spec)
        if text:
            given[name] = _value(label, name, spec, text)
        elif name in required:
            raise BadInput(f"{label}: this is needed.", field=name)
    return given


def correct(
    version: models.AgentVersion,
    before: Mapping[str, Any],
    values: Mapping[str, str],
    files: Mapping[str, tuple[str, bytes]],
) -> dict[str, Any]:
    """Return the input with what is given in the place of what it was. Refuse (BadInput) as `collect` does."""
    properties: Mapping[str, Any] = version.input_schema.get("properties", {})
    corrected = dict(before)
    for name, text in values.items():
        spec = properties.get(name)
        if spec is None:
            raise BadInput(f"The agent {version.agent.name!r} takes no input named {name!r}.", field=name)
        label = str(spec.get("title", name))
        if spec.get("format") == "file":
            raise BadInput(f"{label}: this takes a file, not a text.", field=name)
        corrected[name] = _value(label, name, spec, text)
    for name, file in files.items():
        if name not in properties:
            raise BadInput(f"The agent {version.agent.name!r} takes no file named {name!r}.", field=name)
        corrected[name] = _file(str(properties[name].get("title", name)), name, *file)
    return corrected


def default_of(spec: Mapping[str, Any]) -> str:
    """Return the value that an input has when nothing is given; "today" is this very day."""
    default = spec.get("default", "")
    if default == TODAY and spec.get("format") == "date":
        return datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    return str(default)


def _file(label: str, name: str, path: str, content: bytes) -> dict[str, str]:
    if not content:
        raise BadInput(f"{label}: the file {path!r} is empty.", field=name)
    try:
        sha256 = starts.keep_blob(content)
    except Invalid as error:
        raise BadInput(f"{label}: {error}", field=name) from error
    return {"path": path[-255:], "sha256": sha256}


def _value(label: str, name: str, spec: Mapping[str, Any], text: str) -> Any:
    if "\x00" in text:
        raise BadInput(f"{label}: this holds a NUL character.", field=name)
    if spec.get("format") == "date":
        try:
            day = datetime.date.fromisoformat(text)
        except ValueError as error:
            raise BadInput(
                f"{label}: {text[:40]!r} is no date; write it as 2026-12-31.", field=name
            ) from error
        if not FIRST_YEAR <= day.year <= LAST_YEAR:
            raise BadInput(f"{label}: the year {day.year} can't be meant.", field=name)
        return day.isoformat()
    if spec.get("type") in {"integer", "number"}:
        try:
            return int(text) if spec["type"] == "integer" else float(text)
        except ValueError as error:
            raise BadInput(f"{label}: {text[:40]!r} is no number.", field=name) from error
    return text


def pair(text: str) -> tuple[str, str]:
    """Return NAME and VALUE of `NAME=VALUE`; refuse (BadInput) anything else."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadInput(f"{text!r} is not NAME=VALUE.")
    return name, value


def starter(username: str) -> models.User:
    """Return who starts a run from the shell: the named person, else the first who may; BadInput if nobody can."""
    if username:
        if not username.isprintable():
            raise BadInput(f"{username!r} is no user name.")
        named = models.User.objects.filter(username=username).first()
        if named is None:
            raise BadInput(f"There is nobody named {username!r} here.")
        return named
    able = Q(groups__name__in=rights.holders(rights.Act.START)) | Q(is_superuser=True)
    first = models.User.objects.filter(able, is_active=True).order_by("pk").first()
    if first is None:
        raise BadInput(
            "Nobody here may start runs yet: make an administrator first, or name somebody with --user."
        )
    return first


def new_token() -> str:
    """Return a start token: the same token never makes a second run."""
    return secrets.token_urlsafe(24)


def content(path: Path) -> tuple[str, bytes]:
    """Return the name and bytes of a file; refuse (BadInput) one that can't be read."""
    try:
        return path.name, path.read_bytes()
    except OSError as error:
        raise BadInput(f"The file {str(path)!r} can't be read: {error.strerror}.") from error


def uploaded(file: UploadedFile[Any]) -> tuple[str, bytes]:
    """Return the name and bytes of a file from a form; refuse (BadInput) one over the limit before it is read."""
    size = file.size or 0
    if size > blob.MAX_SIZE:
        raise BadInput(f"This file has {size:,} bytes; the limit is {blob.MAX_SIZE:,}.")
    return file.name or "file", file.read()


def as_typed(given: Mapping[str, Any]) -> dict[str, str]:
    """Return the values of an input as a form shows them; files are none."""
    return {name: str(value) for name, value in given.items() if not isinstance(value, Mapping)}


def address(run: models.Run) -> str:
    """Return the address of the run's page."""
    return f"{settings.PUBLIC_URL}{reverse('run', args=[run.pk])}"
