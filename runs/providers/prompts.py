"""What a model is sent, in a format of our own with a version number; vendors' formats are made of it at the edge.

Messages and their parts follow OpenTelemetry's conventions for generative AI: a message has a `role` (user, assistant)
and `parts`; a part has a `type`: `text` (`content`), `tool_call` (`id`, `name`, `arguments`), or `tool_call_response`
(`id`, `name`, `response`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

VERSION = 1

_PIECES = re.compile(r"[A-Z]?[a-z]{1,3}|[A-Z]{1,2}|\d|[^\sA-Za-z0-9]|\s{2,}")
_AROUND = 8  # what a vendor's format puts around each part

Message = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class Tool:
    """A tool as a model sees it: its name, what it does, and the JSON Schema of its arguments."""

    name: str
    description: str
    parameters: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return it as it is counted and kept."""
        return {"name": self.name, "description": self.description, "parameters": self.parameters}


@dataclass(frozen=True, kw_only=True)
class Prompt:
    """All that a model is sent for one reply. `upto` is set where it asks for a summary of the log up to there."""

    system: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    output: int
    upto: int | None = None
    pinned: tuple[str, ...] = field(default=())
    planned: bool = False

    def as_json(self) -> dict[str, Any]:
        """Return it in our own format."""
        return {
            "version": VERSION,
            "gen_ai.system_instructions": [text(self.system)],
            "gen_ai.tool.definitions": [tool.as_json() for tool in self.tools],
            "gen_ai.input.messages": list(self.messages),
            "gen_ai.request.max_tokens": self.output,
        }

    @property
    def tokens(self) -> int:
        """Return how many tokens it has, counted here and on the high side."""
        return tokens(self.system) + tokens_of(self.messages) + sum(map(tokens_of_tool, self.tools))


def readable(value: Any) -> str:
    """Return JSON for a model to read: letters as they are, and nothing that can't be sent."""
    return sendable(json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(", ", ": ")))


def sendable(said: str) -> str:
    """Return a text with what no vendor takes replaced: half characters, and NUL."""
    return said.encode("utf-8", "replace").decode().replace("\0", "\ufffd")


def text(content: str) -> dict[str, Any]:
    """Return a part that is a text."""
    return {"type": "text", "content": sendable(content)}


def call(number: str, name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part that calls a tool."""
    return {"type": "tool_call", "id": number, "name": name, "arguments": json.loads(readable(arguments))}


def response(number: str, name: str, said: str) -> dict[str, Any]:
    """Return a part that says what came of a call."""
    return {"type": "tool_call_response", "id": number, "name": name, "response": sendable(said)}


def message(role: str, parts: Sequence[Mapping[str, Any]]) -> Message:
    """Return a message."""
    return {"role": role, "parts": list(parts)}


@lru_cache(maxsize=2048)
def tokens(content: str) -> int:
    """Return how many tokens a text has at most, as a rule: counted here, since vendors' own tables aren't at hand.

    Three letters, one digit or one sign count as one token, and each byte of any other script; English has fewer
    tokens than that by a third, and what isn't a language about as many.
    """
    if content.isascii():
        return len(_PIECES.findall(content))
    found = _PIECES.findall(content)
    return len(found) + sum(len(piece.encode("utf-8", "replace")) - 1 for piece in found if piece > "\x7f")


def tokens_of(messages: Sequence[Message]) -> int:
    """Return how many tokens these messages have."""
    return sum(_of_part(part) for one in messages for part in one["parts"])


def tokens_of_tool(tool: Tool) -> int:
    """Return how many tokens the definition of a tool has."""
    return _AROUND + tokens(readable(tool.as_json()))


def _of_part(part: Mapping[str, Any]) -> int:
    match part["type"]:
        case "text":
            return _AROUND + tokens(part["content"])
        case "tool_call":
            return 2 * _AROUND + tokens(readable([part["name"], part["arguments"]]))
    return 2 * _AROUND + tokens(part["response"])
