"""An agent's document as fields and back: `take` of what `shown` shows is the same document, byte for byte.

Only what was typed anew changes the document; what no field can show stays in it untouched, and is told beside them.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from runs import agent_checks, jsonschemas
from runs.forms import agent_driver, agent_limits, agent_lists, agent_rows, agent_typed
from runs.forms.agent_rows import INPUT, OUTPUT, Rows
from runs.forms.agent_typed import Sent, anew, put, ticked

_TEXTS = {"name": False, "title": False, "project": False, "instructions": True}
"""Texts with a field each, and whether they may have several lines."""
_TICKS = ("ordered", "approve_plan")
WORDS = {
    "name": "name", "title": "title", "project": "project", "provider": "what drives it", "model": "model",
    "instructions": "instructions", "tools": "tools", "ordered": "one call after the other",
    "approve_plan": "approving the plan", "budget": "limits of one run", "per_day": "limits of a day",
    "input": "what it is given", "definition": "settings of what drives it",
    **{name: label.lower() for name, label in agent_driver.LABELS.items()},
    "stream": "piece by piece",
}  # fmt: skip
"""What each part of a document is called beside the fields."""


@dataclass(frozen=True, kw_only=True)
class AgentForm:
    """The fields as they are drawn: texts by name, the tools that are ticked, the rows, and what only the YAML says."""

    texts: Mapping[str, str]
    tools: tuple[str, ...] | None
    rows: Mapping[str, Rows | None]
    empty: Mapping[str, int]
    aside: Mapping[str, Any]
    steps: tuple[Mapping[str, Any], ...] = ()
    unshown: tuple[str, ...] = ()

    @property
    def lists(self) -> tuple[agent_lists.List, ...]:
        """Return the fields of the input and of the result as they are drawn."""
        return tuple(
            agent_lists.drawn(which, rows, empty=self.empty.get(which, 0))
            for which, rows in self.rows.items()
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of everything that a sentence can stand beside."""
        rows = [
            agent_rows.name_of(which, number, "name")
            for which, found in self.rows.items()
            if found is not None
            for number in range(1, len(found.rows) + 1)
        ]
        return (*self.texts, "tools", INPUT, OUTPUT, "definition", *rows)


@dataclass(frozen=True, kw_only=True)
class Taken:
    """A document as it was sent, with what was typed."""

    document: dict[str, Any]
    aside: Mapping[str, Any]
    empty: Mapping[str, int]
    errors: Mapping[str, str] = field(default_factory=dict)


def shown(
    document: Mapping[str, Any], aside: agent_driver.Aside, *, empty: Mapping[str, int] | None = None
) -> AgentForm:
    """Return the fields of a document, with so many new and empty rows."""
    texts = _texts(document, aside)
    names, rows = (
        _tools(document),
        {INPUT: _rows(document, "input"), OUTPUT: _output(document)},
    )
    return AgentForm(
        texts=texts,
        tools=names,
        rows=rows,
        empty=empty or {},
        aside=aside,
        steps=_steps(document),
        unshown=tuple(_unshown(document, texts, names, rows)),
    )


def take(
    document: Mapping[str, Any], aside: agent_driver.Aside, sent: Sent, *, drop: tuple[str, int] = ("", 0)
) -> Taken:
    """Return the document with what was typed anew; `drop` names a row, of which fields and from 1, that goes."""
    before, new = _texts(document, aside), dict(document)
    for name in _TEXTS:
        text = anew(sent, before, name)
        if text is not None:
            put(new, name, text if name == "instructions" else text.strip())
    if new.get("name", "") == "" and isinstance(new.get("title"), str):
        put(new, "name", re.sub(r"[^a-z0-9]+", "-", new["title"].lower()).strip("-")[:80].rstrip("-"))
    for name in _TICKS:
        now = ticked(sent, before, name)
        if now is not None:
            put(new, name, now)
    _take_tools(new, sent)
    agent_limits.take(new, sent, before)
    kept = agent_driver.take(new, aside, sent, before)
    given = agent_rows.take(new.get("input"), INPUT, sent, dropped=drop[1] if drop[0] == INPUT else 0)
    if given.schema is not None:
        new["input"] = given.schema
    elif new.get("input") is not None:
        new["input"] = {"type": "object", "properties": {}, "additionalProperties": False}
    back = _take_output(new, document, sent, dropped=drop[1] if drop[0] == OUTPUT else 0)
    return Taken(
        document=new,
        aside=kept,
        empty={INPUT: given.empty, OUTPUT: back.empty},
        errors={**given.errors, **back.errors},
    )


def errors(document: Mapping[str, Any], form: AgentForm) -> dict[str, str]:
    """Return what stands against a document, each sentence at its field; without a name what has none."""
    found = dict(agent_limits.errors(document))
    for problem in agent_checks.problems(document):
        if problem.key in agent_limits.KEYS and any(name.startswith(f"{problem.key}-") for name in found):
            continue
        name, sentence = _placed(problem, document)
        if name not in form.names:
            name = ""
        found[name] = f"{found[name]} {sentence}" if name in found else sentence
    return found


def _placed(problem: agent_checks.Problem, document: Mapping[str, Any]) -> tuple[str, str]:
    sentence = problem.sentence
    if sentence.startswith("An agent needs its "):
        return problem.key, f"Fill in the {WORDS[problem.key]}."
    if problem.key == "model" and sentence.startswith("The model "):
        return "model", "Choose whose model it is, and write its name."
    sentence = sentence[:1].upper() + sentence[1:]
    if problem.key == "definition" and document.get("provider") == agent_driver.MODEL:
        if problem.sentence == _against_output(document):
            return OUTPUT, sentence
        named = [name for name in re.findall(r"'(\w+)'", sentence) if name in agent_driver.LABELS]
        for name, label in agent_driver.LABELS.items():
            sentence = sentence.replace(f"'{name}'", f"“{label}”")
        return named[0] if named else "definition", sentence
    return {"budget": "budget-tools", "per_day": "per_day-tools"}.get(problem.key, problem.key), sentence


def _against_output(document: Mapping[str, Any]) -> str:
    definition = document.get("definition")
    try:
        jsonschemas.check(definition.get("output_schema", {}) if isinstance(definition, Mapping) else {})
    except jsonschemas.BadSchema as error:
        return str(error)
    return ""


def _texts(document: Mapping[str, Any], aside: agent_driver.Aside) -> dict[str, str]:
    found = {
        name: document.get(name, "")
        for name, lines in _TEXTS.items()
        if agent_typed.carried(document.get(name, ""), lines=lines)
    }
    found |= {
        name: "yes" if document.get(name) else ""
        for name in _TICKS
        if type(document.get(name, False)) is bool
    }
    return found | agent_driver.shown(document, aside) | agent_limits.shown(document)


def _tools(document: Mapping[str, Any]) -> tuple[str, ...] | None:
    names = document.get("tools", [])
    known = isinstance(names, list) and all(agent_typed.carried(name) for name in names)
    return tuple(names) if known else None


def _take_tools(document: dict[str, Any], sent: Sent) -> None:
    """Put the ticked tools into the document: those that it has stay in their order, others come behind them."""
    names = _tools(document)
    if names is None or "tools-shown" not in sent:
        return
    now = sent.get("tools", ())
    if set(now) != set(names):
        document["tools"] = [
            *(name for name in names if name in now),
            *dict.fromkeys(name for name in now if name not in names),
        ]


def _output(document: Mapping[str, Any]) -> Rows | None:
    definition = document.get("definition", {})
    if document.get("provider") != agent_driver.MODEL:
        return Rows()
    return _rows(definition, "output_schema") if isinstance(definition, Mapping) else None


def _rows(document: Mapping[str, Any], key: str) -> Rows | None:
    """Return the fields of a schema, those of none where the document doesn't have it."""
    return (
        agent_rows.shown(document[key])
        if document.get(key) is not None
        else None
        if key in document
        else Rows()
    )


def _take_output(
    new: dict[str, Any], old: Mapping[str, Any], sent: Sent, *, dropped: int
) -> agent_rows.Taken:
    """Put the fields of the result into the document, where a model drove the agent and does so still."""
    definition = new.get("definition", {})
    both = new.get("provider") == old.get("provider") == agent_driver.MODEL
    if not both or not isinstance(definition, Mapping):
        return agent_rows.Taken(schema=None)
    taken = agent_rows.take(definition.get("output_schema"), OUTPUT, sent, dropped=dropped)
    if taken.schema is None and definition.get("output_schema") is not None:
        new["definition"] = {name: said for name, said in definition.items() if name != "output_schema"}
    elif taken.schema is not None and taken.schema is not definition.get("output_schema"):
        new["definition"] = {**definition, "output_schema": taken.schema}
    return taken


def _steps(document: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the steps of a playbook as far as they are some."""
    definition = document.get("definition")
    steps = definition.get("steps") if isinstance(definition, Mapping) else None
    if document.get("provider") != agent_driver.PLAYBOOK or not isinstance(steps, list):
        return ()
    return tuple(step for step in steps if isinstance(step, Mapping))


def _unshown(
    document: Mapping[str, Any],
    texts: Mapping[str, str],
    tools: tuple[str, ...] | None,
    rows: Mapping[str, Rows | None],
) -> list[str]:
    """Return what the document says and no field shows, in words."""
    found = [key for key in document if key not in agent_checks.KEYS]
    shown_as = {"budget": "budget-steps", "per_day": "per_day-steps", "model": "model"}
    for key in agent_checks.KEYS:
        if key in document and key not in {"tools", "input", "definition"}:
            driven = key != "model" or document.get("provider") == agent_driver.MODEL
            if shown_as.get(key, key) not in texts or not driven:
                found.append(WORDS[key])
    found += ["tools"] if tools is None else []
    found += [WORDS[INPUT]] if rows[INPUT] is None else []
    for key in agent_limits.KEYS:
        said = document.get(key)
        if isinstance(said, Mapping) and f"{key}-steps" in texts:
            found += [
                f"{WORDS[key]}: {name}" for name in said if f"{key}-{name}" not in texts and ":" not in name
            ]
    definition = document.get("definition", {})
    if document.get("provider") == agent_driver.MODEL:
        if not isinstance(definition, Mapping):
            return [*found, WORDS["definition"]]
        for name in definition:
            there = rows[OUTPUT] is not None if name == "output_schema" else name in texts
            found += [] if there else [WORDS[name] if name in WORDS else str(name)]
    elif "definition" in document and not _steps(document):
        found.append(WORDS["definition"])
    return found
