"""What the provider of models refuses to run, what it may cost, and what a model's calls become."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest

from runs.providers import contract, controls, llm, prices, prompts, registry

NAMES = {"world_look": "world.look"}


@pytest.mark.parametrize(
    ("definition", "why"),
    [
        ({"tools": 1}, "has no 'tools'"),
        ({"max_tokens": 0}, "whole number"),
        ({"window": True}, "whole number"),
        ({"window": 8_000, "max_tokens": 5_000}, "at most half"),
        ({"window": 100}, "at least 4,000"),
        ({"output_schema": {"type": "nothing"}}, "schema"),
        ({"facts": "one"}, "list of texts"),
        ({"stream": "yes"}, "true or false"),
        ({"temperature": "hot"}, "number"),
        ({"base_url": "file:///etc"}, "http://"),
        ({"key": "sk-12345"}, "never written down"),
    ],
)
def test_a_definition_that_cannot_be_run_is_refused(definition: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        llm.Llm().check(definition, ())


def test_a_model_is_named_with_its_vendor() -> None:
    for name in ("gpt-5", "openai:", "elsewhere:gpt"):
        with pytest.raises(ValueError, match="must be named as"):
            registry.check_model("llm", name)
    with (
        mock.patch.object(llm, "installed", return_value=False),
        pytest.raises(ValueError, match="extra 'llm'"),
    ):
        llm.Llm().check({}, ())


def request(model: str, **definition: Any) -> contract.Request:
    agent = contract.AgentSpec(
        name="a", number=1, provider="llm", model=model, instructions="", tools=(), definition=definition
    )
    prompt = prompts.Prompt(system="You count.", messages=(), output=1_000)
    return contract.Request(agent=agent, input={}, planned=False, plan=(), results={}, prompt=prompt)


def test_what_a_reply_may_cost_is_counted_high_and_an_unknown_price_is_never_0() -> None:
    known = llm.Llm().estimate(request("openai:gpt-4o"))
    assert known == contract.Usage(tokens_in=4, tokens_out=1_000, cost_micro=10_010)
    assert llm.Llm().estimate(request("openai:nobody-knows-it")).cost_micro is None
    assert llm.Llm().estimate(request("openai:gpt-4o", base_url="http://127.0.0.1:1/v1")).cost_micro is None
    written = prices.of_tokens("anthropic", "claude-sonnet-5-5", tokens_in=1_000_000, tokens_out=0)
    assert written == 2_500_000  # into the vendor's cache, which costs a quarter more
    assert prices.of_tokens("openai", "gpt-4o", tokens_in=0, tokens_out=0) == 0


def test_a_models_calls_in_the_contracts_terms() -> None:
    def made(name: str, given: Any, *, planned: bool = False) -> contract.Call:
        return controls.call(name, given, label="1", names=NAMES, planned=planned, alone=True)

    look = made("world_look", {"name": "it", "plan_step": "a"})
    assert (look.tool, look.arguments, look.step, look.malformed) == ("world.look", {"name": "it"}, "a", "")
    step = {"id": "a", "title": "Look", "tool": "world_look", "note": "Now."}
    planned = made("plan", {"steps": [step]})
    body = {"tool": "world.look", "note": "Now.", "required": False}
    assert planned.arguments == {"steps": [{"id": "a", "title": "Look", "body": body}], "reason": ""}
    assert controls.shown("plan", planned.arguments, None, {"world.look": "world_look"})["steps"] == [step]
    assert "say with 'reason'" in made("plan", {"steps": [step]}, planned=True).malformed
    for given, why in (
        ({}, "exactly one"),
        ({"done": ["a"], "skip": "b"}, "exactly one"),
        ({"done": ["a"], "why": 1}, "no argument 'why'"),
        ({"steps": []}, "1 to 100"),
        ({"steps": ["a"]}, "step 1: it must be an object"),
        ({"steps": [{**step, "body": 1}]}, "no 'body'"),
        ({"steps": [{"id": " ", "title": "x"}]}, "'id' must be a text"),
        ({"steps": [{**step, "note": 1}]}, "are texts"),
        ({"steps": [{**step, "tool": "x"}]}, "no tool 'x'"),
        ({"steps": [{**step, "id": "a\0"}]}, "can't be stored"),
    ):
        assert why in made("plan", given).malformed, given
    assert "no JSON object" in made("world_look", "[1").malformed
    long = {f"a.{'x' * 70}", f"a-{'x' * 70}", "a.b", "a_b", "plan"}
    safe = controls.safe_names(long)
    assert len(set(safe.values())) == len(long)
    assert all(len(name) <= 64 and "." not in name for name in safe.values())
