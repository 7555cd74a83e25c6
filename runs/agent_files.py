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

from runs import agent_checks, exact
from runs.agent_checks import KEYS, NEEDED, TEXTS
from runs.providers import declared, playbook_format, registry

LONGEST = 500_000

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
"""What a new agent's text begins with, where a playbook drives it."""

BEGIN_MODEL = """\
name: ""
title: ""
provider: llm
instructions: ""
tools: []
budget: {steps: 50, calls: 100, cost_micro: 1000000}
input: {type: object, additionalProperties: false, properties: {}}
definition: {}
"""
"""What it begins with where a model drives it."""


def schema() -> dict[str, Any]:
    """Return the JSON Schema of such a file, for editors; that of a playbook stands in its `$defs`."""
    limits = {"type": "object", "additionalProperties": {"type": "integer", "minimum": 0}}
    playbook = playbook_format.SCHEMA
    return {
        "$schema": playbook["$schema"],
        "title": "Agent",
        "type": "object",
        "required": list(NEEDED),
        "additionalProperties": False,
        "properties": {
            **{key: {"type": "string"} for key in TEXTS},
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
    document, lines = _loaded(text)
    for problem in agent_checks.problems(document):
        line = lines.get(problem.step) or lines.get(problem.key, 0)
        raise BadAgent(problem.sentence, line=line)
    return agent_checks.made(document)


def document(text: str) -> dict[str, Any]:
    """Return what a text says as plain data, fit to be kept or not; refuse (BadAgent) what is no mapping in YAML."""
    return _loaded(text)[0]


def contents(agent: declared.Agent) -> dict[str, Any]:
    """Return what stands in an agent's text, as plain data in its order."""
    told: dict[str, Any] = {key: getattr(agent, key) for key in TEXTS if getattr(agent, key)}
    told |= {key: True for key in ("ordered", "approve_plan") if getattr(agent, key)}
    told |= {"tools": list(agent.tools), "budget": dict(agent.budget)}
    if agent.per_day:
        told["per_day"] = dict(agent.per_day)
    told |= {"input": dict(agent.input_schema), "definition": dict(agent.definition)}
    plain = exact.stored(exact.canonical(told, limit=None))
    return {key: plain[key] for key in told}


def write(agent: declared.Agent) -> str:
    """Return the text of an agent, which reads as the same agent."""
    return _dumped(contents(agent))


def rewritten(text: str, wanted: Mapping[str, Any]) -> str:
    """Return the text of a document, made from one that says something else: what stays keeps lines and comments."""
    try:
        said, parts, before = _parts(text)
    except BadAgent:
        return _dumped(wanted)
    if _same(said, wanted):
        return text
    kept = [
        (key, part if _same(said[key], wanted[key]) else _dumped({key: wanted[key]}), between)
        for key, part, between in parts
        if key in wanted
    ]
    for key in wanted:
        if key not in said:
            place = [n for n, (known, _, _) in enumerate(kept, 1) if _order(known) <= _order(key)]
            kept.insert(max(place, default=0), (key, _dumped({key: wanted[key]}), ""))
    new = before + "".join(f"{part.rstrip(chr(10))}\n{between}" for _, part, between in kept)
    try:
        return new if _same(_loaded(new)[0], wanted) else _dumped(wanted)
    except BadAgent:
        return _dumped(wanted)


def _dumped(told: Mapping[str, Any]) -> str:
    return yaml.dump(dict(told), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=100)


def _same(one: Any, other: Any) -> bool:
    return exact.canonical(one, limit=None) == exact.canonical(other, limit=None)


def _order(key: str) -> int:
    return KEYS.index(key) if key in KEYS else len(KEYS)


def _parts(text: str) -> tuple[dict[str, Any], list[tuple[str, str, str]], str]:
    """Return what a text says, each key with its lines and what stands behind them, and what stands before the first.

    Behind a key may stand empty lines and comments; they belong to none.
    """
    said, node = _composed(text)
    begins = [key.start_mark.index for key, _ in node.value] + [len(text)]
    parts = []
    for place, (key, _) in enumerate(node.value):
        lines = text[begins[place] : begins[place + 1]].splitlines(keepends=True)
        size = len(lines)
        while size > 1 and (not lines[size - 1].strip() or lines[size - 1].startswith("#")):
            size -= 1
        parts.append((key.value, "".join(lines[:size]), "".join(lines[size:])))
    return said, parts, text[: begins[0]]


class _Dumper(yaml.SafeDumper):
    """Texts of several lines stand as such, and nothing stands for something elsewhere."""

    def ignore_aliases(self, data: Any) -> bool:
        """Write a value that stands in two places twice."""
        return True


_ODD = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\ufeff]")
"""What YAML folds or takes for the end of a line, if it isn't written as an escape."""


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = '"' if _ODD.search(value) else "|" if "\n" in value else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def _loaded(text: str) -> tuple[dict[str, Any], dict[str, int]]:
    """Return what stands in the text, and for each of its keys the line."""
    found, node = _composed(text)
    lines = {key.value: key.start_mark.line + 1 for key, _ in node.value}
    return found, lines | _step_lines(node)


def _composed(text: str) -> tuple[dict[str, Any], yaml.MappingNode]:
    if len(text) > LONGEST:
        raise BadAgent(f"It has {len(text):,} characters; the limit is {LONGEST:,}.")
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
    assert isinstance(node, yaml.MappingNode)
    return found, node


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
