"""An agent's document as fields and back: what nobody touches stays as it was, and what is typed changes that alone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runs import agent_checks, agent_files, exact
from runs.demo import agents as demo
from runs.demo import driven
from runs.forms import agent_fields, agent_rows, agents

GOOD = agent_files.document(agent_files.BEGIN)
MODEL = {
    "name": "clerk", "title": "Clerk", "provider": "llm", "model": "openai:small", "tools": ["memory.note"],
    "budget": {"cost_micro": 1_500_000}, "input": {"type": "object", "properties": {"to": {"type": "string"}}},
    "definition": {"facts": ["It is cold."], "output_schema": {"type": "object", "properties": {}}},
}  # fmt: skip


def sent(form: agent_fields.AgentForm, **typed: str) -> dict[str, list[str]]:
    """Return what a browser sends of a form in which nobody touched anything else."""
    ticks = {"ordered", "approve_plan", "stream"}
    found = {name: [text] for name, text in form.texts.items() if text or name not in ticks}
    if form.tools is not None:
        found |= {"tools-shown": ["yes"], "tools": list(dict.fromkeys(form.tools))}
    for listed in form.lists:
        if listed.known:
            found[f"{listed.which}-rows"] = [str(listed.count)]
        for one in listed.rows:
            row = one.row
            found |= {
                f"{one.key}-{part}": [getattr(row, part)] for part in ("was", "name", "type", "title", "said")
            }
            found |= {f"{one.key}-needed": ["yes"]} if row.needed else {}
    found |= {name: [text] for name, text in typed.items()}
    return {name: [text.replace("\n", "\r\n") for text in texts] for name, texts in found.items()}


def changed(document: Mapping[str, Any], **typed: str) -> dict[str, Any]:
    form = agent_fields.shown(document, {})
    return agent_fields.take(
        document, {}, sent(form, **{name.replace("__", "-"): text for name, text in typed.items()})
    ).document


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
plain = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**9) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
)
types = st.sampled_from(
    [*agent_rows.TYPES.values(), {"enum": ["a", "b"]}, {"type": "string", "maxLength": 5}, {}]
)
specs = st.builds(
    lambda kind, more: {**more, **kind},
    types,
    st.dictionaries(st.sampled_from(["title", "description"]), text),
)
schemas = st.builds(
    lambda properties, needed, more: {
        "type": "object", "properties": properties, "required": sorted({*needed, *list(properties)[:1]}), **more,
    },
    st.dictionaries(text, specs, max_size=4), st.sets(text, max_size=2),
    st.sampled_from([{}, {"additionalProperties": False}, {"minProperties": 1}]),
)  # fmt: skip
limits = st.dictionaries(
    st.sampled_from(["steps", "calls", "tokens", "cost_micro", "seconds", "calls:memory.note"]),
    st.integers(0, 10**12),
)
definitions = st.fixed_dictionaries({}, optional={
    "output_schema": schemas, "facts": st.lists(text, max_size=3), "max_tokens": st.integers(1, 2_000),
    "temperature": st.floats(0, 2) | st.integers(0, 2), "stream": st.booleans(), "key": st.just("secret://k"),
    "base_url": st.just("http://localhost:11434/v1"), "window": st.integers(4_000, 10**6),
})  # fmt: skip
valid = st.fixed_dictionaries(
    {
        "name": st.just("any"), "title": text.filter(str.strip), "provider": st.just("llm"),
        "model": st.sampled_from(["openai:gpt", "anthropic:a b", "openai:x:y"]),
    },
    optional={
        "project": st.sampled_from(["", "a"]), "instructions": text, "ordered": st.booleans(),
        "approve_plan": st.booleans(), "tools": st.permutations(["memory.note", "email.send", "memory.recall"]),
        "budget": limits, "per_day": limits, "input": schemas, "definition": definitions,
    },
)  # fmt: skip
junk = (
    st.dictionaries(st.sampled_from([*agent_checks.KEYS, "more"]), plain)
    .map(lambda found: {**MODEL, **found})
    .filter(lambda found: found["name"] != "")  # a name that is left empty is made from the title
)


@pytest.mark.parametrize(
    "agent",
    [*demo.AGENTS, *driven.agents({}), agent_files.read(agent_files.BEGIN)],
    ids=lambda agent: agent.name,
)
def test_what_nobody_touches_stays(agent: Any) -> None:
    document = agent_files.document(agent_files.write(agent))
    assert exact.canonical(changed(document)) == exact.canonical(document)


@given(valid | junk)
def test_any_document_stays_through_its_fields_and_its_text(document: dict[str, Any]) -> None:
    form = agent_fields.shown(document, {})
    taken = agent_fields.take(document, {}, sent(form))
    assert exact.canonical(taken.document) == exact.canonical(document)
    assert (taken.aside, taken.errors, set(taken.empty.values())) == ({}, {}, {0})
    written = agent_files.rewritten("", document)
    assert exact.canonical(agent_files.document(written)) == exact.canonical(document)
    assert set(agent_fields.errors(document, form)) <= {"", *form.names}


@given(valid)
def test_a_document_without_problems_is_an_agent_in_the_form_too(document: dict[str, Any]) -> None:
    form = agent_fields.shown(document, {})
    assert bool(agent_checks.problems(document)) == bool(agent_fields.errors(document, form))
    other = changed(document, title="Another title")
    assert other == {**document, "title": "Another title"} if "title" in form.texts else other == document


def test_what_is_typed_changes_that_alone() -> None:
    assert changed(MODEL, budget__cost_micro="2.50")["budget"] == {"cost_micro": 2_500_000}
    assert changed(MODEL, budget__steps="12", budget__cost_micro="")["budget"] == {"steps": 12}
    assert changed(MODEL, per_day__tools="memory.note = 3")["per_day"] == {"calls:memory.note": 3}
    assert changed(MODEL, model="large")["model"] == "openai:large"
    assert changed(MODEL, vendor="anthropic")["model"] == "anthropic:small"
    assert changed(MODEL, key="shop")["definition"] == {**MODEL["definition"], "key": "secret://shop"}  # type: ignore[dict-item]
    assert changed(MODEL, facts=" One.\n\nTwo.")["definition"]["facts"] == ["One.", "Two."]
    assert changed(MODEL, temperature="0")["definition"]["temperature"] == 0
    assert "definition" not in changed(GOOD, provider="llm")
    rows = {
        "input-1-was": "to",
        "input-1-name": "to",
        "input-1-type": "date",
        "input-1-needed": "yes",
        "input-1-title": "Until",
    }
    until = {"type": "string", "format": "date", "title": "Until"}
    form = agent_fields.shown(MODEL, {})
    new = agent_fields.take(MODEL, {}, sent(form, **rows)).document
    assert new["input"] == {"type": "object", "properties": {"to": until}, "required": ["to"]}
    assert {**new, "input": MODEL["input"]} == MODEL


def test_what_is_no_number_stays_as_it_was_typed_and_is_told_at_its_field() -> None:
    typed = {"budget__steps": "a few", "per_day__tools": "email.send", "window": "wide", "model": ""}
    document = changed(MODEL, **typed)
    form = agent_fields.shown(document, {})
    assert (form.texts["budget-steps"], form.texts["per_day-tools"]) == ("a few", "email.send")
    assert (form.texts["window"], form.texts["vendor"], form.texts["model"]) == ("wide", "openai", "")
    told = agent_fields.errors(document, form)
    assert told == {
        "budget-steps": "The limit of turns is a whole number, without commas.",
        "per_day-tools": "Write one tool on each line, such as email.send = 20; this is none: email.send",
        "window": "“Window” must be a whole number from 1.",
        "model": "Choose whose model it is, and write its name.",
    }


def test_another_driver_keeps_what_was_said_for_the_first() -> None:
    def press(act: str, given: agents.Given, **typed: str) -> agents.Given:
        assert given.form is not None
        more = {"text": [given.text], "tab": ["form"], "aside": [given.kept_aside], "act": [act]}
        return agents.read({**sent(given.form, **typed), **more})

    first = agents.read({"text": [agent_files.rewritten("", MODEL)], "tab": ["yaml"], "act": ["tab:form"]})
    other = press("tab:yaml", first, provider="playbook")
    assert agent_files.document(other.text)["definition"] == GOOD["definition"]
    back = agents.read(
        {"text": [other.text], "tab": ["yaml"], "aside": [other.kept_aside], "act": ["tab:form"]}
    )
    again = press("check", back, provider="llm")
    assert agent_files.document(again.text) == MODEL
    assert (again.errors, again.kept_aside) == ({}, "")


def test_a_text_keeps_its_lines_and_comments_where_nothing_is_changed() -> None:
    text = (
        "# Ours.\nname: clerk  # short\ntitle: Clerk\n\n# Who asks.\nprovider: playbook\ntools: []  # none\n"
    )
    document = agent_files.document(text)
    assert agent_files.rewritten(text, document) == text
    new = agent_files.rewritten(text, {**document, "title": "Head clerk", "model": "none"})
    assert new == text.replace("title: Clerk", "title: Head clerk").replace(
        "provider: playbook\n", "provider: playbook\nmodel: none\n"
    )
    assert agent_files.rewritten("{name: a}", {"name": "b"}) == "name: b\n"
