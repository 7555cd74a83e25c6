"""An agent as a YAML text, for review beside code: what is read is what was written, and what doesn't fit has a line.

    name: receivables
    title: Accounts receivable
    provider: playbook
    instructions: |
      Remind customers whose invoices are overdue.
    tools: [files.read_csv, email.send]
    budget: {steps: 200, calls: 200}
    per_day: {cost_micro: 5000000}
    input: {type: object, properties: {}}
    definition: {steps: []}

Besides there may be `project`, `model`, `ordered` and `approve_plan`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from runs import exact, measures
from runs.providers import declared, playbook_format, registry
from runs.tools import registry as tools

LONGEST = 500_000
NAME = re.compile(r"[a-z0-9][a-z0-9-]{0,79}\Z")
_TEXTS = ("name", "title", "project", "provider", "model", "instructions")
_KEYS = (*_TEXTS, "tools", "ordered", "approve_plan", "budget", "per_day", "input", "definition")
_NEEDED = ("name", "title", "provider")

BEGIN = """\
name: letters
title: Customers' letters
provider: playbook
instructions: |
  What it is for, in a few words.
tools: []
budget: {steps: 200, calls: 200}
input:
  type: object
  required: [customer]
  additionalProperties: false
  properties:
    customer: {type: string, title: Customer}
definition:
  steps:
    - id: end
      title: Sum up
      finish: {summary: "Nothing to do for ${input.customer} yet."}
"""
"""What a new agent's text begins with."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of such a file, for editors; that of a playbook stands in its `$defs`."""
    limits = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
    playbook = playbook_format.SCHEMA
    return {
        "$schema": playbook["$schema"],
        "title": "Agent",
        "type": "object",
        "required": list(_NEEDED),
        "additionalProperties": False,
        "properties": {
            **{key: {"type": "string"} for key in _TEXTS},
            "name": {"type": "string", "pattern": "^[a-z0-9][a-z0-9-]{0,79}$"},
            "provider": {"enum": list(registry.names())},
            "tools": {"type": "array", "items": {"type": "string"}, "uniqueItems": True},
            "ordered": {"type": "boolean"},
            "approve_plan": {"type": "boolean"},
            "budget": limits,
            "per_day": limits,
            "input": {"type": "object"},
            "definition": {"type": "object"},
        },
        "if": {"properties": {"provider": {"const": "playbook"}}},
        "then": {"properties": {"definition": {"$ref": "#/$defs/playbook"}}},
        "$defs": {
            "playbook": {key: value for key, value in playbook.items() if key not in {"$schema", "$defs"}},
            **playbook["$defs"],
        },
    }


class BadAgent(ValueError):
    """The text is no agent; one sentence, and the line where it fails, 0 where that isn't one line's fault."""

    def __init__(self, sentence: str, *, line: int = 0) -> None:
        super().__init__(f"Line {line}: {sentence}" if line else sentence)
        self.line = line


class _Loader(yaml.SafeLoader):
    """Plain data only. Dates stay texts, and a key that stands twice is refused."""

    yaml_implicit_resolvers = {
        sign: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:timestamp"]
        for sign, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        """Return the mapping; refuse a key that stands twice, or is no text."""
        known: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise BadAgent(f"the key {key!r} is no text.", line=key_node.start_mark.line + 1)
            if key in known:
                raise BadAgent(f"{key!r} stands there twice.", line=key_node.start_mark.line + 1)
            known.add(key)
        return super().construct_mapping(node, deep=deep)

    def compose_node(self, parent: Any, index: Any) -> Any:
        """Return the node; refuse an alias, by which a short text could mean a very long one."""
        if self.check_event(yaml.AliasEvent):
            event: Any = self.get_event()  # type: ignore[no-untyped-call]
            raise BadAgent("aliases (*) are not used here.", line=event.start_mark.line + 1)
        return super().compose_node(parent, index)


def read(text: str) -> declared.Agent:
    """Return the agent that a text describes, fit to be kept; refuse (BadAgent) one sentence, with its line."""
    if len(text) > LONGEST:
        raise BadAgent(f"It has {len(text):,} characters; the limit is {LONGEST:,}.")
    found, lines = _loaded(text)
    for key in found:
        if key not in _KEYS:
            raise BadAgent(f"An agent has no {key!r}; it has {', '.join(_KEYS)}.", line=lines[key])
    for key in _NEEDED:
        if not found.get(key):
            raise BadAgent(f"An agent needs its {key!r}.")
    for key in _TEXTS:
        if not isinstance(found.get(key, ""), str):
            raise BadAgent(f"{key!r} is a text; put it in quotation marks.", line=lines[key])
    for key, kind, words in (
        ("tools", list, "a list of tools' names"),
        ("budget", dict, "a limit for each measure"),
        ("per_day", dict, "a limit for each measure"),
        ("input", dict, "a JSON Schema"),
        ("definition", dict, "what the provider does"),
        ("ordered", bool, "true or false"),
        ("approve_plan", bool, "true or false"),
    ):
        if key in found and not isinstance(found[key], kind):
            raise BadAgent(f"{key!r} is {words}.", line=lines[key])
    agent = _agent(found)
    _fits(agent, lines)
    return agent


def contents(agent: declared.Agent) -> dict[str, Any]:
    """Return what stands in an agent's text, as plain data in its order."""
    told: dict[str, Any] = {key: getattr(agent, key) for key in _TEXTS if getattr(agent, key)}
    told |= {key: True for key in ("ordered", "approve_plan") if getattr(agent, key)}
    told |= {"tools": list(agent.tools), "budget": dict(agent.budget)}
    if agent.per_day:
        told["per_day"] = dict(agent.per_day)
    told |= {"input": dict(agent.input_schema), "definition": dict(agent.definition)}
    plain = exact.stored(exact.canonical(told, limit=None))
    return {key: plain[key] for key in told}


def write(agent: declared.Agent) -> str:
    """Return the text of an agent, which reads as the same agent."""
    return yaml.dump(contents(agent), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


class _Dumper(yaml.SafeDumper):
    """Texts of several lines stand as such."""


_ODD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
"""What YAML folds or takes for the end of a line, if it isn't written as an escape."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if _ODD.search(value) else "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _loaded(text: str) -> tuple[dict[str, Any], dict[str, int]]:
    """Return what stands in the text, and for each of its keys the line."""
    try:
        loader = _Loader(text)
        try:
            node = loader.get_single_node()
            found = loader.construct_document(node) if node is not None else None
        finally:
            loader.dispose()
        if not isinstance(found, dict):
            raise BadAgent("An agent is a mapping: a line with “name: …”, and so on.", line=1)
        exact.canonical(found)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise BadAgent(f"{error.problem or 'it is no YAML'}.", line=mark.line + 1 if mark else 0) from error
    except (yaml.YAMLError, RecursionError) as error:
        raise BadAgent(f"It is no YAML: {' '.join(str(error).split())[:200]}") from error
    except exact.NotExact as error:
        raise BadAgent(str(error)) from error
    assert node is not None
    lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}
    return found, lines | _step_lines(node)


def _step_lines(node: Any) -> dict[str, int]:
    """Return the line of each step of a playbook, by "Step 'its id'" and "Step 3"."""
    found: dict[str, int] = {}
    for step, number in _steps(node):
        found[f"Step {number}"] = line = step.start_mark.line + 1
        if isinstance(step, yaml.MappingNode):
            found |= {f"Step {value.value!r}": line for key, value in step.value if key.value == "id"}
    return found


def _steps(node: Any) -> Iterator[tuple[Any, int]]:
    for name in ("definition", "steps"):
        inside = node.value if isinstance(node, yaml.MappingNode) else ()
        node = next((value for key, value in inside if key.value == name), None)
    if isinstance(node, yaml.SequenceNode):
        yield from zip(node.value, range(1, len(node.value) + 1), strict=True)


def _agent(found: Mapping[str, Any]) -> declared.Agent:
    return declared.Agent(
        name=found["name"],
        title=found["title"].strip(),
        project=found.get("project", ""),
        provider=found["provider"],
        model=found.get("model", ""),
        instructions=found.get("instructions", ""),
        tools=tuple(found.get("tools", ())),
        ordered=found.get("ordered", False),
        approve_plan=found.get("approve_plan", False),
        budget=found.get("budget", {"steps": 200, "calls": 200}),
        per_day=found.get("per_day", {}),
        input_schema=found.get("input", {"type": "object", "properties": {}}),
        definition=found.get("definition", {}),
    )


def _fits(agent: declared.Agent, lines: Mapping[str, int]) -> None:
    def refuse(key: str, sentence: str) -> BadAgent:
        return BadAgent(sentence, line=lines.get(key, 0))

    if not NAME.match(agent.name) or agent.name == "new":
        raise refuse("name", "a name has small letters, digits and dashes, 80 at most, and isn't “new”.")
    if not declared.PROJECT.match(agent.project):
        raise refuse("project", "a project has letters, digits, - and _, 80 at most.")
    if len(agent.title) > 200 or len(agent.model) > 200:
        raise refuse("title", "the title or the model has more than 200 characters.")
    for tool in agent.tools:
        if not isinstance(tool, str):
            raise refuse("tools", "each tool is named by a text.")
        try:
            tools.get(tool)
        except tools.UnknownTool as error:
            raise refuse("tools", str(error)) from error
    if len(set(agent.tools)) != len(agent.tools):
        raise refuse("tools", "a tool stands there twice.")
    for key, limits in (("budget", agent.budget), ("per_day", agent.per_day)):
        known = [*measures.Measure, *(measures.of_tool(tool) for tool in agent.tools)]
        for name, limit in limits.items():
            if name not in known or type(limit) is not int or limit < 0:
                raise refuse(
                    key,
                    f"{', '.join(known)} may be limited, each by a whole number; {name!r} can't be {limit!r}.",
                )
    try:
        registry.get(agent.provider).check(agent.definition, agent.tools)
        tools.check_steps(agent.definition)
        registry.check_model(agent.provider, agent.model)
    except registry.UnknownProvider as error:
        raise refuse("provider", str(error)) from error
    except ValueError as error:
        step = re.match(r"Step (?:'[^']*'|\d+)", str(error))
        raise refuse(step[0] if step and step[0] in lines else "definition", str(error)) from error
