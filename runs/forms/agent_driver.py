"""What drives an agent, as its form has it: a model with its settings, or a playbook, or a recording.

A document has one provider. What was said for the others, before somebody chose another, is kept aside and sent along.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from runs import agent_files, exact
from runs.forms import agent_typed
from runs.forms.agent_typed import Sent, Shown, anew, put
from runs.providers import llm, playbook, replay

MODEL, PLAYBOOK, RECORDING = llm.Llm.name, playbook.Playbook.name, replay.Replay.name
KNOWN = (MODEL, PLAYBOOK, RECORDING)
LABELS = {
    "max_tokens": "Longest reply",
    "window": "Window",
    "temperature": "Temperature",
    "base_url": "Server of your own",
    "key": "Key",
    "facts": "What always holds",
    "output_schema": "What it gives back",
}
"""The settings of a model that have a field, as people read them."""
_WHOLE = ("max_tokens", "window")
_TEXTS = (*_WHOLE, "temperature", "base_url", "key")
_SECRET = "secret://"  # noqa: S105 it is what a reference to one begins with
_PARTS = ("model", "definition")

Aside = Mapping[str, Mapping[str, Any]]


def begun(provider: str) -> dict[str, Any]:
    """Return what an agent has of a provider that nothing was said for yet."""
    if provider == PLAYBOOK:
        return {"definition": agent_files.document(agent_files.BEGIN)["definition"]}
    return {"definition": {"input": "recording"}} if provider == RECORDING else {}


def aside(text: str) -> dict[str, dict[str, Any]]:
    """Return what was sent along of the providers that the document hasn't got; nothing where that can't be read."""
    try:
        found = exact.parse(text) if text else {}
    except exact.NotExact:
        return {}
    if not isinstance(found, dict):
        return {}
    return {
        name: {key: value for key, value in said.items() if key in _PARTS}
        for name, said in found.items()
        if name in KNOWN and isinstance(said, dict)
    }


def shown(document: Mapping[str, Any], kept: Aside) -> dict[str, str]:
    """Return the texts that fields can show; those of a model also where another provider is chosen."""
    found: dict[str, str] = {}
    if agent_typed.carried(document.get("provider", "")):
        found["provider"] = document.get("provider", "")
    said = _of(MODEL, document, kept)
    model = said.get("model", "")
    if agent_typed.carried(model):
        vendor, colon, name = model.partition(":")
        found |= (
            {"vendor": vendor, "model": name}
            if colon and vendor in llm.KEYS
            else {"vendor": "", "model": model}
        )
    definition = said.get("definition", {})
    if isinstance(definition, Mapping):
        found |= {
            name: text for name in _TEXTS if (text := _text(name, definition.get(name, ""))) is not None
        }
        if type(definition.get("stream", False)) is bool:
            found["stream"] = "yes" if definition.get("stream") else ""
        facts = definition.get("facts", [])
        if isinstance(facts, list) and all(
            agent_typed.carried(one) and one.strip() == one != "" for one in facts
        ):
            found["facts"] = "\n".join(facts)
    return found


def take(document: dict[str, Any], kept: Aside, sent: Sent, before: Shown) -> dict[str, dict[str, Any]]:
    """Put what was typed anew into the document, and return what is kept aside from now on."""
    was, chosen = document.get("provider"), anew(sent, before, "provider")
    now = chosen if chosen is not None else was
    said = {name: dict(_of(name, document, kept)) for name in KNOWN}
    said[MODEL] = _model(said[MODEL], sent, before)
    if chosen is not None:
        document["provider"] = chosen
    if now in KNOWN:
        for part in _PARTS:
            document.pop(part, None)
        document |= said[now]
    elif was != now:
        for part in _PARTS:
            document.pop(part, None)
    return {name: parts for name, parts in said.items() if name != now and parts != begun(name)}


def _of(provider: str, document: Mapping[str, Any], kept: Aside) -> Mapping[str, Any]:
    if document.get("provider") == provider:
        return {part: document[part] for part in _PARTS if part in document}
    return kept.get(provider) or begun(provider)


def _model(said: dict[str, Any], sent: Sent, before: Shown) -> dict[str, Any]:
    """Return what is said of a model, with what was typed anew."""
    vendor, name = anew(sent, before, "vendor"), anew(sent, before, "model")
    if vendor is not None or name is not None:
        vendor = before["vendor"] if vendor is None else vendor
        name = (before["model"] if name is None else name).strip()
        whole = not vendor or name.partition(":")[0] in llm.KEYS
        put(said, "model", name if whole else f"{vendor}:{name}")
    definition = said.get("definition", {})
    if not isinstance(definition, Mapping):
        return said
    new = dict(definition)
    for field in _TEXTS:
        text = anew(sent, before, field)
        if text is not None:
            put(new, field, _value(field, text.strip()))
            if text.strip() in {"0", "0.0"}:
                new[field] = _value(field, text.strip())
    stream, facts = agent_typed.ticked(sent, before, "stream"), anew(sent, before, "facts")
    if stream is not None:
        put(new, "stream", stream)
    if facts is not None:
        lines = [line.strip() for line in facts.splitlines() if line.strip()]
        new["facts"] = lines
        if not lines:
            del new["facts"]
    if new != definition:
        said["definition"] = new
    return said


def _text(field: str, value: Any) -> str | None:
    """Return what a field shows of a setting; None where it can't."""
    if type(value) in {int, float} and field in {*_WHOLE, "temperature"}:
        return str(value)
    if not agent_typed.carried(value):
        return None
    text = str(value)
    name = text.removeprefix(_SECRET)
    return name if field == "key" and not name.startswith(_SECRET) else text


def _value(field: str, text: str) -> Any:
    """Return the setting that was typed; what is no number stays a text, and is refused as one."""
    if field == "key" and text:
        return text if text.startswith(_SECRET) else f"{_SECRET}{text}"
    if field in _WHOLE:
        return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else text
    if field == "temperature" and text:
        try:
            number = float(text.replace(",", "."))
        except ValueError:
            return text
        return (
            (int(number) if number.is_integer() else number)
            if math.isfinite(number) and abs(number) < 1e6
            else text
        )
    return text
