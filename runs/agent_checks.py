"""What an agent's document has to be: its keys, and everything that stands against it, each with its key.

A document is what an agent's text says as plain data, whether or not it can be kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from runs import jsonschemas, measures
from runs.providers import declared, registry
from runs.tools import registry as tools

NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,79}\Z")
TEXTS = ("name", "title", "project", "provider", "model", "instructions")
KEYS = (*TEXTS, "tools", "ordered", "approve_plan", "budget", "per_day", "input", "definition")
NEEDED = ("name", "title", "provider")
BUDGET: Mapping[str, int] = {"steps": 200, "calls": 200}
"""The limits of an agent that says nothing of them."""

_KINDS: tuple[tuple[str, type, str], ...] = (
    ("tools", list, "a list of tools' names"),
    ("budget", dict, "a limit for each measure"),
    ("per_day", dict, "a limit for each measure"),
    ("input", dict, "a JSON Schema"),
    ("definition", dict, "what the provider does"),
    ("ordered", bool, "true or false"),
    ("approve_plan", bool, "true or false"),
)
_UNKEPT = re.compile("[\x00\ud800-\udfff]")
_STEP = re.compile(r"Step (?:'[^']*'|\d+)")


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One sentence that stands against a document, the key that it is about, and the playbook's step, if it is one."""

    sentence: str
    key: str = ""
    step: str = ""


def problems(document: Mapping[str, Any]) -> tuple[Problem, ...]:
    """Return what stands against a document; nothing where it is an agent that can be kept."""
    return tuple(_shape(document)) or tuple(_fits(made(document)))


def made(document: Mapping[str, Any]) -> declared.Agent:
    """Return the agent that a document without problems describes."""
    return declared.Agent(
        name=document["name"],
        title=document["title"].strip(),
        project=document.get("project", ""),
        provider=document["provider"],
        model=document.get("model", ""),
        instructions=document.get("instructions", ""),
        tools=tuple(document.get("tools", ())),
        ordered=document.get("ordered", False),
        approve_plan=document.get("approve_plan", False),
        budget=document.get("budget", dict(BUDGET)),
        per_day=document.get("per_day", {}),
        input_schema=document.get("input", {"type": "object", "properties": {}}),
        definition=document.get("definition", {}),
    )


def _shape(document: Mapping[str, Any]) -> Iterator[Problem]:
    for key in document:
        if key not in KEYS:
            yield Problem(sentence=f"An agent has no {key!r}; it has {', '.join(KEYS)}.", key=key)
    for key in NEEDED:
        given = document.get(key)
        if not given or (isinstance(given, str) and not given.strip()):
            yield Problem(sentence=f"An agent needs its {key!r}.", key=key)
    for key in TEXTS:
        if not isinstance(document.get(key, ""), str):
            yield Problem(sentence=f"{key!r} is a text; put it in quotation marks.", key=key)
    for key, kind, words in _KINDS:
        if key in document and not isinstance(document[key], kind):
            yield Problem(sentence=f"{key!r} is {words}.", key=key)


def _fits(agent: declared.Agent) -> Iterator[Problem]:
    if not NAME.match(agent.name) or agent.name == "new":
        sentence = "a name has small letters, digits and dashes, 80 at most, and isn't “new”."
        yield Problem(sentence=sentence, key="name")
    if not declared.PROJECT.match(agent.project):
        yield Problem(sentence="a project has letters, digits, - and _, 80 at most.", key="project")
    if len(agent.title) > 200 or len(agent.model) > 200:
        sentence = "the title or the model has more than 200 characters."
        yield Problem(sentence=sentence, key="title" if len(agent.title) > 200 else "model")
    for key in TEXTS:
        if _UNKEPT.search(getattr(agent, key)):
            sentence = f"{key!r} holds a character that can't be kept: NUL, or half of a pair."
            yield Problem(sentence=sentence, key=key)
    unknown = tuple(_tools(agent.tools))
    yield from unknown
    yield from _limits(agent)
    yield from _input(agent.input_schema)
    if not unknown:
        yield from _provided(agent)


def _tools(names: tuple[Any, ...]) -> Iterator[Problem]:
    for name in names:
        if not isinstance(name, str):
            yield Problem(sentence="each tool is named by a text.", key="tools")
            return
        try:
            tools.get(name)
        except tools.UnknownTool as error:
            yield Problem(sentence=str(error), key="tools")
    if len(set(names)) != len(names):
        yield Problem(sentence="a tool stands there twice.", key="tools")


def _limits(agent: declared.Agent) -> Iterator[Problem]:
    known = [*measures.Measure, *(measures.of_tool(tool) for tool in agent.tools)]
    for key, limits in (("budget", agent.budget), ("per_day", agent.per_day)):
        for name, limit in limits.items():
            if name not in known or type(limit) is not int or limit < 0:
                sentence = (
                    f"{', '.join(known)} may be limited, each by a whole number; {name!r} can't be {limit!r}."
                )
                yield Problem(sentence=sentence, key=key)


def _input(schema: Mapping[str, Any]) -> Iterator[Problem]:
    properties, required = schema.get("properties", {}), schema.get("required", [])
    if not isinstance(properties, Mapping) or not all(
        isinstance(one, Mapping) for one in properties.values()
    ):
        yield Problem(sentence="the 'properties' of the input are a JSON Schema for each field.", key="input")
    elif not isinstance(required, list) or not all(isinstance(name, str) for name in required):
        yield Problem(sentence="what is 'required' of the input is a list of fields' names.", key="input")
    else:
        try:
            jsonschemas.check(schema)
        except jsonschemas.BadSchema as error:
            yield Problem(sentence=f"the input can't be described so: {error}", key="input")


def _provided(agent: declared.Agent) -> Iterator[Problem]:
    try:
        provider = registry.get(agent.provider)
    except registry.UnknownProvider as error:
        yield Problem(sentence=str(error), key="provider")
        return
    try:
        provider.check(agent.definition, agent.tools)
        tools.check_steps(agent.definition)
    except ValueError as error:
        step = _STEP.match(str(error))
        yield Problem(sentence=str(error), key="definition", step=step[0] if step else "")
    try:
        registry.check_model(agent.provider, agent.model)
    except ValueError as error:
        yield Problem(sentence=str(error), key="model")
