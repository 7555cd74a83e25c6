"""Agents as YAML: read as written, and one sentence with its line for what doesn't fit."""

from __future__ import annotations

import re

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import agent_files
from runs.demo import agents as demo
from runs.providers import declared

GOOD = agent_files.BEGIN


@pytest.mark.parametrize("agent", [*demo.AGENTS, agent_files.read(GOOD)], ids=lambda agent: agent.name)
def test_what_is_written_reads_as_the_same(agent: declared.Agent) -> None:
    text = agent_files.write(agent)
    assert agent_files.contents(agent_files.read(text)) == agent_files.contents(agent)
    assert agent_files.write(agent_files.read(text)) == text


def test_its_json_schema_takes_what_is_an_agent_and_not_what_is_none() -> None:
    schema = agent_files.schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    checked = jsonschema.Draft202012Validator(schema)
    for agent in (*demo.AGENTS, agent_files.read(GOOD)):
        assert list(checked.iter_errors(agent_files.contents(agent))) == []
    good = agent_files.contents(agent_files.read(GOOD))
    for wrong in (
        {"name": "A b"},
        {"tools": "email.send"},
        {"definition": {"steps": [{"id": "a"}]}},
        {"more": 1},
    ):
        assert list(checked.iter_errors(good | wrong))


plain = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=30),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.text(alphabet=st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).filter(
        str.strip
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=60),
    plain,
)
def test_any_text_and_value_comes_back_exactly(title: str, instructions: str, value: object) -> None:
    agent = declared.Agent(
        name="any",
        title=title.strip(),
        provider="replay",
        instructions=instructions,
        tools=(),
        definition={"replies": [], "finish": {"summary": "Done.", "result": value}},
        input_schema={"type": "object", "properties": {}},
    )
    read = agent_files.read(agent_files.write(agent))
    assert (read.title, read.instructions, read.definition) == (agent.title, instructions, agent.definition)


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (("name: letters", "name: Bad name"), 1, "small letters"),
        (("name: letters", "name: new"), 1, "isn't “new”"),
        (("title: Customers' letters", "title: 12"), 2, "is a text"),
        (("title: Customers' letters", 'title: "a\\0b"'), 2, "can't be kept"),
        (("title: Customers' letters", 'title: "\\ud800"'), 2, "can't be kept"),
        (("provider: playbook", "provider: gpt"), 3, "no provider 'gpt'"),
        (("tools: []", "tools: email.send"), 6, "a list of tools"),
        (("tools: []", "tools: [email.sent]"), 6, "no tool 'email.sent'"),
        (("tools: []", "tools: [email.send, email.send]"), 6, "twice"),
        (("steps: 200", "steps: -1"), 7, "can't be -1"),
        (("steps: 200", "hours: 3"), 7, "'hours'"),
        (("tools: []", "tool: []"), 6, "no 'tool'"),
        (("tools: []", "tools: []\ntools: []"), 7, "stands there twice"),
        (("tools: []", "tools: [*a]"), 6, "alias"),
        (("tools: []", "tools: ["), 8, ""),
        (("tools: []", "tools: !!python/object:os.system []"), 6, ""),
        (("finish: {", "finished: {"), 16, "no key 'finished'"),
        (("${input.customer}", "${input."), 16, "Step 'end'"),
        (("title: Customers' letters\n", ""), 0, "needs its 'title'"),
        ((GOOD, ""), 1, "mapping"),
        ((GOOD, "- a"), 1, "mapping"),
        ((GOOD, "1: 2"), 1, "no text"),
    ],
)
def test_what_does_not_fit_has_its_line(change: tuple[str, str], line: int, words: str) -> None:
    with pytest.raises(agent_files.BadAgent) as refused:
        agent_files.read(GOOD.replace(*change))
    assert words in str(refused.value)
    assert "\n" not in str(refused.value)
    assert refused.value.line == line, refused.value
    assert re.match(rf"Line {line}: " if line else r"[A-Z]", str(refused.value))


def test_a_short_text_never_means_a_very_long_one() -> None:
    bomb = "a: &a [x, x]\n" + "\n".join(f"b{n}: &b{n} [*a, *a]" for n in range(9))
    with pytest.raises(agent_files.BadAgent, match="aliases"):
        agent_files.read(bomb)
    with pytest.raises(agent_files.BadAgent):
        agent_files.read("[" * 20_000)
    with pytest.raises(agent_files.BadAgent, match="characters"):
        agent_files.read("x" * 600_000)
