"""What a provider may get wrong: each fault is one sentence in the run, and nothing is half-written."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest import mock

import pytest

from runs import models
from runs.engine import verifier
from runs.providers import contract
from runs.providers.playbook import Playbook
from tests.engine.conftest import answer, go, only_review
from tests.engine.world import World

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., models.Run]
FINISH = contract.Call(tool="finish", arguments={"summary": "Over."})


def scripted(run: models.Run, *replies: contract.Reply | Exception) -> models.Run:
    """Advance the run with a provider that says just this."""
    with mock.patch.object(Playbook, "complete", side_effect=replies):
        return go(run)


def said(run: models.Run) -> list[str]:
    """Return the closing words of the run's calls."""
    lines = models.Entry.objects.filter(run=run, kind="result").order_by("position")
    return [line.content["text"] for line in lines]


def deep(levels: int) -> Any:
    """Return a list nested this deep."""
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("tool", "arguments", "sentence"),
    [
        ("world.nothing", {}, "This agent has no tool named 'world.nothing'."),
        ("world.look\x00", {}, "This agent has no tool named 'world.look\\x00'."),
        ("world.lookup", {}, "world.lookup: name: field required."),
        ("world.lookup", {"name": "x", "more": 1}, "world.lookup: more: extra inputs are not permitted."),
        ("world.lookup", {"name": 7}, "world.lookup: name: input should be a valid string."),
        ("world.lookup", ["x"], "world.lookup: the arguments: input should be a valid dictionary"),
        ("world.lookup", {"name": float("nan")}, "world.lookup: nan is not a JSON number."),
        ("world.lookup", {"name": "x" * 1_000_000}, "the limit is 1,000,000."),
        ("world.lookup", {"name": deep(100)}, "nested deeper than 64 levels"),
        ("world.lookup", {"name": 10**5000}, "can't be stored as JSON"),
        ("world.lookup", {1: "x"}, "The key 1 is not a string."),
        ("plan", {"steps": "none"}, "plan: 'steps' must be a list."),
        ("plan", {"steps": [{"id": "a"}]}, "plan: step 'a' needs a title and a body."),
        ("plan", {"skip": "nowhere"}, "plan: there is no open step 'nowhere' to skip."),
        ("plan", {"replace": ["a"], "steps": []}, "plan: there is no open step ['a'] to replace."),
        (
            "plan",
            {"steps": [{"id": "a", "title": "", "body": {"group": "\ud800"}}]},
            "plan: step 'a' can't belong to the group '\\ud800'.",
        ),
        (
            "ask_human",
            {"question": "?", "schema": {"type": "string", "pattern": "a{99999999999999999999}"}},
            "can't be matched.",
        ),
        (
            "ask_human",
            {"question": "?", "schema": {"type": "string", "pattern": "(" * 5000}},
            "can't be matched.",
        ),
        (
            "ask_human",
            {"question": "?", "schema": {"allOf": [{"pattern": f"\\w{{{number}}}"} for number in range(21)]}},
            "ask_human: the schema has 21 patterns; the limit is 20.",
        ),
        (
            "plan",
            {"steps": [{"id": "a", "title": "", "body": {}}, {"id": "a", "title": "", "body": {}}]},
            "plan: the step id 'a' stands twice.",
        ),
        ("finish", {"result": 1}, "finish: the arguments need a 'summary' text."),
    ],
)
def test_a_bad_call_is_refused_in_one_sentence(
    start: Start, tool: str, arguments: Any, sentence: str
) -> None:
    bad = contract.Call(tool=tool, arguments=arguments)
    run = scripted(start(), contract.Reply(calls=(bad,)), contract.Reply(calls=(FINISH,)))
    assert run.status == "succeeded", run.error
    assert sentence in said(run)[0]
    assert World.effects() == []
    verifier.verify()


def test_hidden_characters_are_kept_exactly(start: Start, reviewer: models.User) -> None:
    name = "a\x00b\u202ec\u200bd\ud800"
    call = contract.Call(tool="world.lookup", arguments={"name": name})
    run = scripted(start(), contract.Reply(calls=(call,)))
    assert models.Action.objects.get(run=run).arguments()["name"] == name
    answer(only_review(run), reviewer, "approve")
    run = scripted(run, contract.Reply(calls=(FINISH,)))
    assert run.status == "succeeded", run.error
    assert [line["name"] for line in World.effects()] == [name]
    verifier.verify()


def planned(*names: str) -> contract.Call:
    """Return a plan of steps with these names."""
    steps = [{"id": name, "title": f"{name}\ud800\x00", "body": {}} for name in names]
    return contract.Call(tool="plan", arguments={"steps": steps})


@pytest.mark.parametrize("name", ["nowhere", "x" * 500, "\x00\ud800"])
def test_a_step_that_no_plan_has_holds_nothing_up(start: Start, name: str) -> None:
    """The paid reply is stored once and its calls are done: it isn't asked for again and again."""
    look, allowed, ask = (
        contract.Call(tool=tool, arguments=arguments, step=name)
        for tool, arguments in (
            ("world.look", {}),
            ("world.allowed", {"name": "x"}),
            ("ask_human", {"question": "?"}),
        )
    )
    run = scripted(start(), *(contract.Reply(calls=(call,)) for call in (look, allowed, ask)))
    assert (run.status, run.steps, only_review(run).kind) == ("waiting", 3, "question")
    assert [line["name"] for line in World.effects()] == ["x"]
    verifier.verify()


def test_a_reply_may_take_out_of_the_plan_what_it_names(start: Start) -> None:
    look = contract.Call(tool="world.look", arguments={}, step="a")
    allowed = contract.Call(tool="world.allowed", arguments={"name": "x"}, step="b")
    replies = ((planned("a", "b"),), (look, planned("c"), allowed), (FINISH,))
    run = scripted(start(), *(contract.Reply(calls=calls) for calls in replies))
    assert (run.status, run.steps) == ("succeeded", 3), run.error
    verifier.verify()  # also that titles with half characters are what the log says


def test_a_reply_without_anything_fails_the_run(start: Start) -> None:
    run = scripted(start(), contract.Reply(text="Hm."))
    assert (run.status, run.error) == (
        "failed",
        "The provider answered without proposing anything or finishing.",
    )
    verifier.verify()


def test_a_flood_of_calls_fails_the_run(start: Start) -> None:
    calls = tuple(contract.Call(tool="world.look", arguments={}) for _ in range(51))
    run = scripted(start(), contract.Reply(calls=calls))
    assert "proposed 51 calls at once" in run.error


def test_a_provider_that_is_away_is_asked_again_later(start: Start) -> None:
    run = scripted(start(), contract.ProviderError("The model is overloaded.", retryable=True))
    assert (run.status, run.reason, run.error) == ("queued", "backoff", "The model is overloaded.")


def test_calls_beside_a_finish_are_done_first(start: Start) -> None:
    look = contract.Call(tool="world.look", arguments={"name": "it"})
    run = scripted(start(), contract.Reply(calls=(FINISH, look)))
    assert run.status == "succeeded"
    assert said(run) == ["Looked at it.", "Over."]
    verifier.verify()


def test_the_step_limit_stops_the_run_for_a_person(start: Start) -> None:
    look = contract.Reply(calls=(contract.Call(tool="world.look", arguments={"name": "it"}),))
    run = scripted(start(budget={"steps": 3, "calls": 200}), *[look] * 3)
    assert (run.status, run.reason, run.steps) == ("waiting", "review", 3)
    assert only_review(run).title == "The limit of 3 turns of this run is reached."
