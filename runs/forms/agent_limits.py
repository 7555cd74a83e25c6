"""The limits of an agent as its form has them: one text for each measure, and one line for each tool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import agent_checks, measures
from runs.forms import agent_typed, limits

KEYS = ("budget", "per_day")
TOOLS = "tools"


def name_of(key: str, measure: str) -> str:
    """Return the name of a field: of which limits, and of what."""
    return f"{key}-{measure}"


def shown(document: Mapping[str, Any]) -> dict[str, str]:
    """Return the texts of the limits that fields can show."""
    found: dict[str, str] = {}
    for key in KEYS:
        said = _said(document, key)
        if said is None:
            continue
        found |= {name_of(key, measure): _text(measure, said.get(measure, "")) for measure in measures.NOUNS}
        found[name_of(key, TOOLS)] = "\n".join(
            _line(measures.tool(name), limit) for name, limit in said.items() if measures.tool(name)
        )
    return found


def take(document: dict[str, Any], sent: agent_typed.Sent, before: agent_typed.Shown) -> None:
    """Put what was typed anew into the document; what is no limit stays a text there, and is refused as one."""
    for key in KEYS:
        said = _said(document, key)
        if said is None:
            continue
        now = dict(said)
        for measure in map(str, measures.NOUNS):
            text = agent_typed.anew(sent, before, name_of(key, measure))
            if text is not None and not text.strip():
                now.pop(measure, None)
            elif text is not None:
                now[measure] = _limit(text.strip(), measure)
        lines = agent_typed.anew(sent, before, name_of(key, TOOLS))
        if lines is not None:
            now = {name: limit for name, limit in now.items() if not measures.tool(name)} | _typed(lines)
        if now == said:
            continue
        if now or key == "budget":
            document[key] = now
        else:
            document.pop(key, None)


def errors(document: Mapping[str, Any]) -> dict[str, str]:
    """Return a sentence for each field whose text is no limit."""
    found: dict[str, str] = {}
    for key in KEYS:
        said = _said(document, key) or {}
        tools = document.get("tools", ())
        for name, limit in said.items():
            tool = measures.tool(name)
            if not tool and name in measures.NOUNS and _wrong(limit):
                found[name_of(key, name)] = f"The limit of {measures.noun(name)} is {limits.wanted(name)}"
            elif tool and _wrong(limit):
                found[name_of(key, TOOLS)] = (
                    f"Write one tool on each line, such as email.send = 20; this is none: {_line(tool, limit)[:80]}"
                )
            elif tool and tool not in tools:
                found[name_of(key, TOOLS)] = (
                    f"Calls of {tool[:80]} are limited, but it isn't ticked among the tools."
                )
    return found


def _said(document: Mapping[str, Any], key: str) -> Mapping[str, Any] | None:
    """Return the limits as the document has them; None where fields can't show them all."""
    said = document.get(key, agent_checks.BUDGET if key == "budget" else {})
    known = isinstance(said, Mapping) and all(
        agent_typed.carried(name) and (type(limit) is int or agent_typed.carried(limit))
        for name, limit in said.items()
    )
    return said if known else None


def _wrong(limit: Any) -> bool:
    return type(limit) is not int or limit < 0


def _text(measure: str, limit: Any) -> str:
    return limits.typed(measure, limit) if type(limit) is int else limit


def _line(tool: str, limit: Any) -> str:
    return tool if limit == "" else f"{tool} = {limit}"


def _limit(text: str, measure: str) -> int | str:
    found = limits.amount(text, measure)
    return text if found is None else found


def _typed(lines: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for line in filter(str.strip, lines.splitlines()):
        tool, _, text = (part.strip() for part in line.partition("="))
        while measures.of_tool(tool) in found:
            tool += " (again)"
        found[measures.of_tool(tool)] = _limit(text, "") if text else ""
    return found
