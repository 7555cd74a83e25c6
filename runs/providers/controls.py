"""The control calls as a model sees them: tools in its words, and what each becomes in the contract's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from runs import plan_changes
from runs.providers import contract, prompts

READ_MORE = "read_more"
STEP = "plan_step"
"""An argument of each tool: the step of the plan that the call carries out. The tool itself never sees it."""

MOST_STEPS = 100

OWN = contract.CONTROL | {READ_MORE}

_STEP = {
    "type": "object",
    "additionalProperties": False,
    "required": ["id", "title"],
    "properties": {
        "id": {"type": "string", "description": "Short and lasting, such as 'read' or 'remind-INV-7'."},
        "title": {
            "type": "string",
            "description": "What is done, in words for the people who follow the run.",
        },
        "tool": {"type": "string", "description": "The tool that will carry it out, where one will."},
        "note": {"type": "string", "description": "What people should know about it."},
    },
}

_PLAN = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "steps": {"type": "array", "items": _STEP, "description": "All that is still to do, in order."},
        "reason": {"type": "string", "description": "Why the plan changes. Needed once there is a plan."},
        "done": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Ids of steps that are done and that no tool call carried out.",
        },
        "skip": {"type": "string", "description": "Id of one step that turns out not to be needed."},
    },
}


def tools(output_schema: Mapping[str, Any] | None) -> tuple[prompts.Tool, ...]:
    """Return the control calls as tools; `output_schema` is that of the agent's result, if it has one."""
    result = (
        dict(output_schema) if output_schema is not None else {"description": "The result, if there is one."}
    )
    return (
        prompts.Tool(
            name=contract.PLAN,
            description=(
                "Make or change the plan that people see. Give all open steps with 'steps' (steps that are over stay"
                " by themselves), or mark steps with 'done' or 'skip'. One of the three at a time."
            ),
            parameters=_PLAN,
        ),
        prompts.Tool(
            name=contract.ASK,
            description=(
                "Ask a person what you can't know or decide. It may take them hours. 'schema' is the JSON Schema of"
                " the answer; without one the answer is a text."
            ),
            parameters={
                "type": "object",
                "additionalProperties": False,
                "required": ["question"],
                "properties": {
                    "question": {"type": "string"},
                    "schema": {"type": "object"},
                    "to": {
                        "type": "string",
                        "description": "The group of people who should answer, if it matters.",
                    },
                },
            },
        ),
        prompts.Tool(
            name=contract.FINISH,
            description="End the run. Call it alone, when nothing is left to do.",
            parameters={
                "type": "object",
                "additionalProperties": False,
                "required": ["summary", *(["result"] if output_schema is not None else [])],
                "properties": {
                    "summary": {
                        "type": "string",
                        "description": "What was done, in a few sentences for people.",
                    },
                    "result": result,
                },
            },
        ),
    )


def safe_names(names: Iterable[str]) -> dict[str, str]:
    """Return what a model calls each tool: vendors take letters, digits, "_" and "-" only, and 64 of them."""
    found: dict[str, str] = {}
    for name in sorted(names):
        safe = plain = re.sub("[^A-Za-z0-9_-]", "_", name)[:60]
        number = 2
        while safe in found.values() or safe in OWN - {name}:
            safe, number = f"{plain}_{number}", number + 1
        found[name] = safe
    return found


def with_step(tool: prompts.Tool) -> prompts.Tool:
    """Return a tool that may also be told which step of the plan its call carries out."""
    known = tool.parameters.get("properties", {})
    step = {"type": "string", "description": "Id of the plan step that this call carries out."}
    return prompts.Tool(
        name=tool.name,
        description=tool.description,
        parameters={**tool.parameters, "properties": {**known, STEP: step}},
    )


def call(
    name: str, arguments: Any, *, label: str, names: Mapping[str, str], planned: bool, alone: bool
) -> contract.Call:
    """Return what a model's call is in the terms of the contract; one that can't be is malformed.

    `names` are the tools by what the model calls them. `planned`: there is a plan already. `alone`: the reply makes no
    other call.
    """
    name = names.get(name, name)
    if not isinstance(arguments, Mapping):
        return contract.Call(
            tool=name, arguments=arguments, label=label, malformed="the arguments are no JSON object."
        )
    given = dict(arguments)
    step = given.pop(STEP, None)
    malformed = ""
    if name == contract.PLAN:
        given, malformed = _plan(given, names=names, planned=planned)
    elif name == contract.FINISH and not alone:
        malformed = "call it alone, once you know what came of all other calls."
    return contract.Call(
        tool=name,
        arguments=given if not malformed else dict(arguments),
        step=step if isinstance(step, str) and step else None,
        label=label,
        malformed=malformed,
    )


def shown(name: str, arguments: Any, step: str | None, safe: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments of a stored call as the model gave them; `safe` says what it calls each tool."""
    if not isinstance(arguments, Mapping):
        return {"unreadable": str(arguments)}
    found = dict(arguments)
    if name == contract.PLAN and isinstance(found.get("steps"), list):
        found["steps"] = [_shown(raw, safe) for raw in found["steps"]]
    return found if step is None else {**found, STEP: step}


def _plan(given: dict[str, Any], *, names: Mapping[str, str], planned: bool) -> tuple[dict[str, Any], str]:
    """Return the arguments of `plan` in the contract's terms, or with a sentence why they aren't."""
    forms = [form for form in ("steps", "done", "skip") if given.get(form) is not None]
    if len(forms) != 1:
        return given, "give exactly one of 'steps', 'done' and 'skip'."
    if extra := sorted(set(given) - {"steps", "done", "skip", "reason"}):
        return given, f"there is no argument {extra[0]!r}."
    reason = given.get("reason")
    if forms != ["steps"]:
        return {forms[0]: given[forms[0]], "reason": str(reason or "")}, ""
    if planned and not (isinstance(reason, str) and reason.strip()):
        return given, "there is a plan already; say with 'reason' why it changes."
    steps = given["steps"]
    if not isinstance(steps, list) or not steps or len(steps) > MOST_STEPS:
        return given, f"'steps' must be a list of 1 to {MOST_STEPS} steps."
    found = []
    for number, raw in enumerate(steps, start=1):
        wrong = _wrong(raw, names)
        if wrong:
            return given, f"step {number}: {wrong}"
        # What a model plans is its own affair: it reads what came of a step, and one that fails ends no run.
        body = {"note": raw["note"]} if raw.get("note") else {}
        body |= {"tool": names.get(raw["tool"], raw["tool"])} if raw.get("tool") else {}
        body |= {"required": False}
        found.append({"id": raw["id"], "title": raw["title"], "body": body})
    return {"steps": found, "reason": str(reason or "")}, ""


def _wrong(raw: Any, names: Mapping[str, str]) -> str:
    if not isinstance(raw, Mapping):
        return "it must be an object with 'id' and 'title'."
    if extra := sorted(set(raw) - {"id", "title", "tool", "note"}):
        return f"there is no {extra[0]!r}; a step has 'id', 'title', 'tool' and 'note'."
    wrong = next(
        (name for name in ("id", "title") if not (isinstance(raw.get(name), str) and raw[name].strip())), ""
    )
    if wrong:
        return f"its {wrong!r} must be a text."
    if any(raw.get(name) is not None and not isinstance(raw[name], str) for name in ("tool", "note")):
        return "'tool' and 'note' are texts."
    if raw.get("tool") and raw["tool"] not in {*names, *names.values()}:
        return f"there is no tool {raw['tool']!r}; leave 'tool' out where none carries it out."
    return "" if plan_changes.is_id(raw["id"]) else "its id is too long, or can't be stored."


def _shown(raw: Any, safe: Mapping[str, str]) -> Any:
    body = raw.get("body", {}) if isinstance(raw, Mapping) else {}
    if not isinstance(body, Mapping):
        return raw
    found = {"id": raw.get("id"), "title": raw.get("title")}
    if "tool" in body:
        found["tool"] = safe.get(str(body["tool"]), str(body["tool"]))
    return {**found, "note": body["note"]} if "note" in body else found
