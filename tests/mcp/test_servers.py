"""What a file of servers says, and what becomes of a tool's own words: pure."""

from __future__ import annotations

from typing import Any

import pytest

from runs.mcp import kinds, servers
from runs.tools import contract


@pytest.mark.parametrize(
    ("said", "hints", "wanted"),
    [
        ({}, {"readOnlyHint": True}, ("irreversible", 3)),
        ({"effect": "read"}, {}, ("read", 0)),
        ({"effect": "read"}, {"readOnlyHint": False}, ("irreversible", 3)),
        ({"effect": "reversible", "tier": 1}, {"destructiveHint": True}, ("irreversible", 3)),
        ({"effect": "reversible"}, {"destructiveHint": False}, ("reversible", 1)),
        ({"effect": "irreversible", "tier": 2}, {}, ("irreversible", 2)),
        ({"effect": "irreversible", "tier": 0}, {}, ("irreversible", 1)),
    ],
)
def test_annotations_only_ever_make_it_worse(
    said: dict[str, Any], hints: dict[str, bool], wanted: tuple[str, int]
) -> None:
    effect, tier = kinds.declared(servers.Said.model_validate(said), hints)
    assert (effect.value, tier) == wanted


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"mcpServers": {"A b": {"command": "x"}}}', '{"mcpServers": {"a": {}}}',
     '{"mcpServers": {"a": {"command": "x", "url": "http://y"}}}', '{"mcpServers": {"a": {"url": "file:///x"}}}',
     '{"mcpServers": {"a": {"command": "x", "tools": {"t": {"effect": "none"}}}}}'],
)  # fmt: skip
def test_a_file_that_is_none_gets_one_sentence(text: str) -> None:
    with pytest.raises(servers.BadServers) as refused:
        servers.read(text)
    assert str(refused.value).count("\n") == 0


def test_arguments_must_fit_the_servers_own_schema() -> None:
    schema = {"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]}

    class Fitting(kinds.Arguments):
        given = schema

    class Note(contract.Tool):
        name = "mcp.odd.note"
        effect = contract.Effect.READ
        Arguments = Fitting

    assert Note.schema() == schema
    assert Note.settled({"text": "a", "extra": [1, {"b": None}]}) == '{"extra":[1,{"b":null}],"text":"a"}'
    wrongs: list[Any] = [{}, {"text": 1}, [], None]
    for wrong in wrongs:
        with pytest.raises(contract.BadArguments):
            Note.settled(wrong)
