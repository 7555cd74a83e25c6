"""The start form: one set of fields an agent, made from its input schema."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.core.files.uploadedfile import UploadedFile

from runs import labelling, models
from runs.models import blob, scopes
from runs.selectors import page_models, tools

TITLE_LENGTH = 200


@dataclass(frozen=True, kw_only=True)
class Given:
    """The form as it was sent."""

    agent: str
    title: str
    token: str
    dry_run: bool = False
    labels: str = ""
    """As they were typed, one a line."""
    labelled: dict[str, str] = field(default_factory=dict)
    values: dict[str, str] = field(default_factory=dict)
    files: dict[str, tuple[str, bytes]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)


def agents(user: models.User) -> list[models.Agent]:
    """Return the agents that can be started."""
    return list(
        models.Agent.objects.filter(scopes.seen(user, "pk"), current__isnull=False)
        .select_related("current")
        .defer("current__definition", "current__tools")
        .order_by("title", "name")
    )


def name_of(agent: str, field_name: str) -> str:
    """Return the form's name of one input of an agent."""
    return f"{agent}.{field_name}"


def read(
    post: Mapping[str, str], files: Mapping[str, UploadedFile[Any]], known: Sequence[models.Agent]
) -> Given:
    """Return what was sent for the chosen agent; files over the limit are refused before they are read."""
    by_name = {agent.name: agent for agent in known}
    chosen = post.get("agent", "") or (known[0].name if len(known) == 1 else "")
    title = post.get("title", "").strip()
    errors: dict[str, str] = {}
    values: dict[str, str] = {}
    kept: dict[str, tuple[str, bytes]] = {}
    if chosen not in by_name:
        errors["agent"] = (
            "Choose an agent." if not chosen else f"There is no agent named {chosen!r} any more."
        )
    else:
        for name, spec in _properties(by_name[chosen]).items():
            key = name_of(chosen, name)
            if spec.get("format") != "file":
                values[name] = post.get(key, "")
            elif (file := files.get(key)) is not None:
                _take(file, name, key, kept, errors)
    labels, labelled = post.get("labels", ""), {}
    try:
        labelled = labelling.typed(labels)
    except labelling.BadLabels as error:
        errors["labels"] = str(error)
    if len(title) > TITLE_LENGTH:
        errors["title"] = f"The title is too long: at most {TITLE_LENGTH} characters."
    elif "\x00" in title:
        errors["title"] = "The title holds a NUL character."
    return Given(
        agent=chosen,
        title=title,
        token=post.get("token", "")[:64],
        dry_run=bool(post.get("dry_run")),
        labels=labels,
        labelled=labelled,
        values=values,
        files=kept,
        errors=errors,
    )


def shown(
    known: Sequence[models.Agent],
    given: Given | None = None,
    *,
    token: str,
    default: Callable[[Mapping[str, Any]], str],
    errors: Mapping[str, str] | None = None,
) -> page_models.StartForm:
    """Return the form to draw: empty, or with what was typed and why it was refused.

    `token` is for a new form; one that comes back keeps its own. `default` gives the value of an untouched input.
    """
    return page_models.StartForm(
        agents=tuple(_choice(agent, given, default) for agent in known),
        token=given.token if given and given.token else token,
        agent=given.agent if given else "",
        title=given.title if given else "",
        dry_run=given.dry_run if given else False,
        labels=given.labels if given else "",
        errors={**(given.errors if given else {}), **(errors or {})},
    )


def _take(
    file: UploadedFile[Any], name: str, key: str, kept: dict[str, tuple[str, bytes]], errors: dict[str, str]
) -> None:
    size = file.size or 0
    if size > blob.MAX_SIZE:
        errors[key] = f"This file has {size:,} bytes; the limit is {blob.MAX_SIZE:,}."
        return
    kept[name] = (file.name or "file", file.read())


def _choice(
    agent: models.Agent, given: Given | None, default: Callable[[Mapping[str, Any]], str]
) -> page_models.AgentChoice:
    typed = given.values if given and given.agent == agent.name else None
    fields = tuple(
        _field(agent, name, spec, default(spec) if typed is None else typed.get(name, ""))
        for name, spec in _properties(agent).items()
    )
    return page_models.AgentChoice(
        name=agent.name,
        label=agent.title or agent.name,
        description=agent.current.instructions if agent.current else "",
        fields=fields,
    )


def _field(agent: models.Agent, name: str, spec: Mapping[str, Any], value: str) -> page_models.InputField:
    kind = str(spec.get("format") or "")
    return page_models.InputField(
        name=name_of(agent.name, name),
        label=str(spec.get("title") or tools.label(name)),
        hint=str(spec.get("description") or ""),
        kind=kind
        if kind in {"file", "date"}
        else "number"
        if spec.get("type") in {"integer", "number"}
        else "text",
        value=value,
        required=name in _required(agent),
    )


def _properties(agent: models.Agent) -> Mapping[str, Any]:
    """Return the inputs, files first: stored JSON keeps no order, and the file is what the run is about."""
    found: Mapping[str, Any] = (agent.current.input_schema if agent.current else {}).get("properties", {})
    return dict(sorted(found.items(), key=lambda item: (item[1].get("format") != "file", item[0])))


def _required(agent: models.Agent) -> frozenset[str]:
    return frozenset((agent.current.input_schema if agent.current else {}).get("required", []))
