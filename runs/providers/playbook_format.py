"""The format of a playbook: its JSON Schema, and one sentence for whatever is wrong with one.

A playbook is {"steps": [...]}, and each step has an `id` and one of:

- `tool` with `with` (arguments, a template): one call;
- the same with `each` (an expression that gives a list) and `as` (the name of a row): one step per row, with
  `key` (what names a row), `row_title` and, judged per row, `if`;
- `ask` with `question` (a template) and `schema` (a JSON Schema; a text without it): a person is asked, and the
  value that they give is the step's result;
- `finish` with `summary` and `result` (templates): the end, and always the last step.

`title` is a template over the input. `if` is judged when the step's turn comes. `required` (default true)
says that the run fails when the step fails; `compensate` that what it did is taken back before that, by the
tool's own undo, the newest first, each as policy says. `retry` ({"times", "wait"}) tries a call again that provably did
not happen, so often and after so many seconds. `gate` has a person asked before the step, whatever policy lets
through. `note` is for people. Templates read `input`, and `steps.<id>` of earlier steps.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from runs import cel, jsonschemas

MOST_RETRIES, LONGEST_WAIT = 10, 86_400

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "Playbook",
    "type": "object",
    "required": ["steps"],
    "additionalProperties": False,
    "properties": {
        "steps": {"type": "array", "minItems": 1, "maxItems": 200, "items": {"$ref": "#/$defs/step"}}
    },
    "$defs": {
        "step": {
            "type": "object",
            "required": ["id"],
            "additionalProperties": False,
            "oneOf": [{"required": ["tool"]}, {"required": ["ask"]}, {"required": ["finish"]}],
            "dependentRequired": {"each": ["as"], "as": ["each"], "key": ["each"], "row_title": ["each"]},
            "properties": {
                "id": {"type": "string", "pattern": "^[a-z][a-z0-9_-]{0,39}$"},
                "title": {"type": "string", "minLength": 1, "maxLength": 200},
                "tool": {"type": "string"},
                "with": {"type": "object"},
                "each": {"type": "string"},
                "as": {"type": "string", "pattern": "^[a-z][a-z0-9_]{0,39}$"},
                "key": {"type": "string"},
                "row_title": {"type": "string"},
                "if": {"type": "string"},
                "required": {"type": "boolean"},
                "retry": {
                    "type": "object",
                    "description": "Try it again where it provably did not happen; what is unknown is asked.",
                    "required": ["times"],
                    "additionalProperties": False,
                    "properties": {
                        "times": {"type": "integer", "minimum": 1, "maximum": MOST_RETRIES},
                        "wait": {"type": "number", "minimum": 0, "maximum": LONGEST_WAIT},
                    },
                },
                "gate": {
                    "type": "boolean",
                    "description": "Ask a person first, whatever policy lets through.",
                },
                "compensate": {
                    "type": "boolean",
                    "description": "Take back what this did, by the tool's undo, before a failed step ends the run.",
                },
                "note": {"type": "string"},
                "ask": {
                    "type": "object",
                    "required": ["question"],
                    "additionalProperties": False,
                    "properties": {
                        "question": {"type": "string", "minLength": 1},
                        "schema": {"type": "object"},
                        "to": {"type": "string", "minLength": 1},
                    },
                },
                "finish": {
                    "type": "object",
                    "required": ["summary"],
                    "additionalProperties": False,
                    "properties": {"summary": {"type": "string", "minLength": 1}, "result": {}},
                },
            },
        }
    },
}

MAX_STEPS = 200
_ID = re.compile(r"[a-z][a-z0-9_-]{0,39}\Z")
_ROW = re.compile(r"[a-z][a-z0-9_]{0,39}\Z")
_KEYS = frozenset(SCHEMA["$defs"]["step"]["properties"])
_TEXTS = ("title", "tool", "each", "as", "key", "row_title", "if", "note")
_RESERVED = frozenset({"input", "steps", "true", "false", "null", "in"})


class BadPlaybook(ValueError):
    """The playbook, or one step of it, can't be run; the message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class Body:
    """One step's definition, taken apart."""

    tool: str | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    each: str | None = None
    row: str = "row"
    key: str | None = None
    row_title: str | None = None
    condition: str | None = None
    ask: Mapping[str, Any] | None = None
    finish: Mapping[str, Any] | None = None
    required: bool = True
    note: str = ""


def body(raw: Mapping[str, Any]) -> Body:
    """Return a step's definition taken apart; refuse (BadPlaybook) one of the wrong shape."""
    _check_types(raw)
    if len(raw.keys() & {"tool", "ask", "finish"}) != 1:
        raise BadPlaybook("it needs either a 'tool' or a 'finish', or an 'ask'.")
    if ("each" in raw) != ("as" in raw):
        raise BadPlaybook("'each' and 'as' go together: the list, and what one row is called.")
    if "each" not in raw and ("key" in raw or "row_title" in raw):
        raise BadPlaybook("'key' and 'row_title' only mean something together with 'each'.")
    finish = raw.get("finish")
    if finish is not None:
        _check_finish(raw, finish)
    if "ask" in raw:
        _check_ask(raw, raw["ask"])
    return Body(
        tool=raw.get("tool"),
        arguments=raw.get("with", {}),
        each=raw.get("each"),
        row=raw.get("as", "row"),
        key=raw.get("key"),
        row_title=raw.get("row_title"),
        condition=raw.get("if"),
        ask=raw.get("ask"),
        finish=finish,
        required=raw.get("required", True),
        note=raw.get("note", ""),
    )


def _check_types(raw: Mapping[str, Any]) -> None:
    for name in _TEXTS:
        if name in raw and not (isinstance(raw[name], str) and raw[name].strip()):
            raise BadPlaybook(f"{name!r} must be a text.")
    if not isinstance(raw.get("with", {}), Mapping):
        raise BadPlaybook("'with' must be an object with the tool's arguments.")
    if not isinstance(raw.get("required", True), bool):
        raise BadPlaybook("'required' must be true or false.")
    if "compensate" in raw and not (isinstance(raw["compensate"], bool) and "tool" in raw):
        raise BadPlaybook("'compensate' goes with a 'tool', and is true or false.")
    if "retry" in raw and (retry(raw) is None or "tool" not in raw):
        raise BadPlaybook(
            f"'retry' goes with a 'tool'; it has 'times' (1 to {MOST_RETRIES}) and may have 'wait', the seconds between"
            f" two tries (at most {LONGEST_WAIT})."
        )


def retry(raw: Mapping[str, Any]) -> tuple[int, float] | None:
    """Return how often more, and after how many seconds, a step is tried that failed for sure; None for not at all."""
    wanted = raw.get("retry")
    if not isinstance(wanted, Mapping) or not set(wanted) <= {"times", "wait"}:
        return None
    times, wait = wanted.get("times"), wanted.get("wait", 0)
    if not isinstance(times, int) or isinstance(times, bool) or not 1 <= times <= MOST_RETRIES:
        return None
    if not isinstance(wait, int | float) or isinstance(wait, bool) or not 0 <= wait <= LONGEST_WAIT:
        return None
    return times, float(wait)


def _check_finish(raw: Mapping[str, Any], finish: Any) -> None:
    known = isinstance(finish, Mapping) and set(finish) <= {"summary", "result"}
    if not known or not isinstance(finish.get("summary"), str) or not finish["summary"].strip():
        raise BadPlaybook("'finish' must have a 'summary' (a text), and may have a 'result'.")
    if "with" in raw or "each" in raw:
        raise BadPlaybook("'finish' takes neither 'with' nor 'each'.")


def _check_ask(raw: Mapping[str, Any], ask: Any) -> None:
    known = isinstance(ask, Mapping) and set(ask) <= {"question", "schema", "to"}
    if not known or not isinstance(ask.get("question"), str) or not ask["question"].strip():
        raise BadPlaybook(
            "'ask' must have a 'question' (a text), and may have a 'schema' and a group that it goes 'to'."
        )
    if "with" in raw or "each" in raw:
        raise BadPlaybook("'ask' takes neither 'with' nor 'each'.")
    try:
        jsonschemas.check(ask.get("schema", {}))
    except jsonschemas.BadSchema as error:
        raise BadPlaybook(f"'ask': {error}") from error


def expressions(raw: Mapping[str, Any]) -> Iterator[str]:
    """Return every expression of a step's definition except its title's."""
    for name in ("each", "if", "key"):
        if isinstance(raw.get(name), str):
            yield raw[name]
    for name in ("with", "row_title", "finish"):
        yield from cel.expressions(raw.get(name))
    if isinstance(raw.get("ask"), Mapping):
        yield from cel.expressions(raw["ask"].get("question"))


def check(definition: Mapping[str, Any], tools: tuple[str, ...]) -> None:
    """Refuse (BadPlaybook, one sentence that names the step) a playbook that can't be run."""
    steps = definition.get("steps")
    if not isinstance(steps, list | tuple) or not steps:
        raise BadPlaybook("A playbook needs a list of 'steps'.")
    if extra := sorted(set(definition) - {"steps"}):
        raise BadPlaybook(f"A playbook has no key {extra[0]!r}.")
    if len(steps) > MAX_STEPS:
        raise BadPlaybook(f"The playbook has {len(steps)} steps; the limit is {MAX_STEPS}.")
    earlier: dict[str, bool] = {}  # id -> is it a loop?
    for number, raw in enumerate(steps, start=1):
        if not isinstance(raw, Mapping) or not isinstance(raw.get("id"), str) or not _ID.match(raw["id"]):
            raise BadPlaybook(f"Step {number} needs an 'id' of small letters, digits, '-' and '_'.")
        try:
            _check_step(raw, tools, earlier, last=number == len(steps))
        except (BadPlaybook, cel.CelError) as error:
            raise BadPlaybook(f"Step {raw['id']!r}: {error}") from error
        earlier[raw["id"]] = "each" in raw


def _check_step(
    raw: Mapping[str, Any], tools: tuple[str, ...], earlier: Mapping[str, bool], *, last: bool
) -> None:
    if extra := sorted(set(raw) - _KEYS):
        raise BadPlaybook(f"there is no key {extra[0]!r}.")
    if "gate" in raw and not (isinstance(raw["gate"], bool) and "tool" in raw):
        raise BadPlaybook("'gate' goes with a 'tool', and is true or false.")
    _check_id(raw["id"], earlier, loop="each" in raw)
    step = body(raw)
    if step.tool is not None and step.tool not in tools:
        raise BadPlaybook(f"the agent has no tool {step.tool!r}.")
    if (step.finish is not None) != last:
        raise BadPlaybook("the last step, and only the last one, must be a 'finish'.")
    if step.each is not None and (not _ROW.match(step.row) or step.row in _RESERVED):
        raise BadPlaybook(f"a row can't be called {step.row!r}.")
    _check_expressions(raw, step, earlier)


def check_planned(raw: Mapping[str, Any], tools: tuple[str, ...]) -> None:
    """Refuse (BadPlaybook, one sentence) the body of a plan step that can't be carried out."""
    step = body(raw)
    if step.tool is not None and step.tool not in tools:
        raise BadPlaybook(f"the agent has no tool {step.tool!r}.")
    if "group" in raw:  # a row of a loop: its arguments are bound, and a template in them is only text
        return
    try:
        row = set() if step.each is None else {step.row}
        for expression in expressions(raw):
            _check_names(expression, {"input", "steps"} | row)
    except cel.CelError as error:
        raise BadPlaybook(str(error)) from error


def _check_id(step_id: str, earlier: Mapping[str, bool], *, loop: bool) -> None:
    """Refuse an id that stands twice, or that a row of a loop could have."""
    if step_id in earlier:
        raise BadPlaybook("this id is used twice.")
    for other, other_loops in earlier.items():
        if (other_loops and step_id.startswith(f"{other}-")) or (loop and other.startswith(f"{step_id}-")):
            raise BadPlaybook(f"this id and {other!r} could not be told from a row of the loop.")


def _check_expressions(raw: Mapping[str, Any], step: Body, earlier: Mapping[str, bool]) -> None:
    for expression in cel.expressions(raw.get("title", "")):
        _check_names(expression, {"input"})
    row = set() if step.each is None else {step.row}
    if step.each is not None:
        _check_names(step.each, {"input", "steps"})
    for expression in expressions(raw):
        _check_names(expression, {"input", "steps"} | row)
        if unknown := sorted(cel.references(expression, "steps") - set(earlier)):
            raise BadPlaybook(f"it reads the result of {unknown[0]!r}, which is no earlier step.")


def _check_names(expression: str, allowed: set[str]) -> None:
    if unknown := sorted(cel.check(expression) - allowed):
        known = ", ".join(sorted(allowed))
        raise BadPlaybook(f"{unknown[0]!r} in {expression!r} is not known here; there is {known}.")
