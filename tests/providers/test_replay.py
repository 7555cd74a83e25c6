"""The replay provider: the recorded replies in order, then the end, and a resumed run where it was."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from runs import models, points, seed
from runs.engine import advance, carrying
from runs.providers import contract, declared, registry, replay
from runs.transitions import clock_time, starts
from runs.transitions.actor import Actor
from tests.engine import world
from tests.engine.conftest import fresh_world, operator, person

__all__ = ["fresh_world", "operator", "person"]

PROVIDER = replay.Replay()
RECORDING: dict[str, Any] = {
    "replies": [
        {
            "text": "I look first.",
            "calls": [{"tool": "world.look", "arguments": {"name": "a"}, "label": "call_1"}],
            "usage": {"tokens_in": 10, "tokens_out": 2, "cost_micro": 30},
        },
        {"calls": [{"tool": "world.allowed", "arguments": {"name": name}} for name in ("b", "c")]},
        {"calls": [{"tool": "world.allowed", "arguments": {"name": "d"}}], "usage": {"cost_micro": None}},
    ],
    "finish": {"summary": "As recorded.", "result": {"count": 3}},
}


def request(
    replies: int, definition: Mapping[str, Any] = RECORDING, given: Mapping[str, Any] | None = None
) -> contract.Request:
    agent = contract.AgentSpec(
        name="a", number=1, provider="replay", model="", instructions="", tools=(), definition=definition
    )
    return contract.Request(
        agent=agent, input=given or {}, planned=False, plan=(), results={}, replies=replies
    )


def reply(number: int, **more: Any) -> contract.Reply:
    return PROVIDER.complete(request(number, **more), timeout=1.0)


def test_each_reply_is_given_as_it_was_recorded_and_then_the_end() -> None:
    first = reply(0)
    assert (first.text, first.usage) == (
        "I look first.", contract.Usage(tokens_in=10, tokens_out=2, cost_micro=30)
    )  # fmt: skip
    assert first.calls == (contract.Call(tool="world.look", arguments={"name": "a"}, label="call_1"),)
    assert [call.arguments["name"] for call in reply(1).calls] == ["b", "c"]
    assert reply(2).usage.cost_micro is None
    for number in (3, 4):
        (end,) = reply(number).calls
        assert (end.tool, end.arguments) == ("finish", {"summary": "As recorded.", "result": {"count": 3}})


def test_without_a_recorded_end_the_summary_says_how_much_was_replayed() -> None:
    (end,) = reply(1, definition={"replies": RECORDING["replies"][:1]}).calls
    assert end.arguments == {"summary": "All 1 recorded replies were given."}


def test_a_run_may_bring_its_own_recording() -> None:
    definition = {"input": "trajectory"}
    PROVIDER.check(definition, ())
    assert reply(0, definition=definition, given={"trajectory": RECORDING}).text == "I look first."
    with pytest.raises(contract.ProviderError, match="needs a list of 'replies'"):
        reply(0, definition=definition)


BAD: list[tuple[Any, str]] = [
    ({}, "needs a list of 'replies'"),
    ({"replies": "all"}, "needs a list of 'replies'"),
    ({"replies": [], "speed": 2}, "no key 'speed'"),
    ({"replies": [], "finish": {"result": 1}}, "'finish' must have a 'summary'"),
    ({"replies": ["hello"]}, "Reply 1 must have 'calls'"),
    ({"replies": [{"text": "no calls"}]}, "Reply 1 needs a list of 'calls'"),
    ({"replies": [{"calls": []}]}, "Reply 1 needs a list of 'calls'"),
    ({"replies": [{"calls": [{"arguments": {}}]}]}, "Reply 1: a call needs a 'tool'"),
    ({"replies": [{"calls": [{"tool": "finish", "step": 3}]}]}, "Reply 1: 'step' and 'label'"),
    ({"replies": [{"calls": [{"tool": "finish"}], "usage": {"tokens": 3}}]}, "Reply 1: 'usage' has"),
    ({"replies": [{"calls": [{"tool": "finish"}], "usage": {"tokens_in": -3}}]}, "Reply 1: usage is counted"),
    ({"replies": [{"calls": [{"tool": "finish"}], "usage": {"cost_micro": True}}]}, "Reply 1: usage is counted"),
    ({"replies": [{"calls": [{"tool": "mail"}]}]}, "Reply 1: the agent has no tool 'mail'"),
    ({"input": "trajectory", "replies": []}, "'input' names the input"),
    ({"input": ""}, "'input' names the input"),
]  # fmt: skip


@pytest.mark.parametrize(("definition", "sentence"), BAD)
def test_a_bad_recording_is_refused_in_one_sentence(definition: Any, sentence: str) -> None:
    with pytest.raises(replay.BadRecording, match=sentence):
        PROVIDER.check(definition, ("world.look",))


def test_a_reply_that_went_bad_in_a_runs_own_recording_is_a_provider_error() -> None:
    given = {"mine": {"replies": [RECORDING["replies"][0], {"calls": "none"}]}}
    assert reply(0, definition={"input": "mine"}, given=given).calls
    with pytest.raises(contract.ProviderError, match=r"can't be replayed\. Reply 2 needs"):
        reply(1, definition={"input": "mine"}, given=given)


def test_only_the_reply_at_its_place_is_looked_at() -> None:
    class Long(list[Any]):
        def __iter__(self) -> Any:
            raise AssertionError("the whole recording was read")

    definition = {"replies": Long(RECORDING["replies"])}
    assert reply(1, definition=definition).calls
    assert registry.get("replay").references(request(0).agent, ()) == frozenset()


@pytest.fixture
def replayed(operator: models.User) -> Callable[[], models.Run]:
    """Start a run of the recording above."""

    def make() -> models.Run:
        seed.register(
            declared.Agent(
                name="replayed", title="Replayed", provider="replay", definition=RECORDING,
                tools=("world.look", "world.allowed"), input_schema={"type": "object", "properties": {}},
            )
        )  # fmt: skip
        return starts.start_run("replayed", input={}, title="R", by=Actor(user=operator), token="r")

    return make


class Died(BaseException):
    """The worker is gone."""


def test_a_run_that_lost_its_worker_after_each_commit_goes_on_at_the_reply_where_it_was(
    replayed: Callable[[], models.Run],
) -> None:
    run = replayed()
    seen: list[str] = []

    def reach(name: str) -> None:
        what, _, side = name.partition(".")
        if what not in carrying.COMMITS or side != "after_commit":
            return
        seen.append(what)
        if not what.endswith("intent"):  # to die after one leaves an effect in doubt: another test's subject
            raise Died

    for _ in range(20):
        if run.status == "succeeded":
            break
        models.Run.objects.filter(pk=run.pk, status="running").update(lease_until=clock_time.now())
        points.arm(reach)
        try:
            advance.advance(run.pk)
        except Died:
            pass
        finally:
            points.arm(None)
        run.refresh_from_db()
    assert sum("reply" in what for what in seen) == 4
    assert (run.status, run.summary, run.steps) == ("succeeded", "As recorded.", 4)
    assert (run.tokens_in, run.cost_micro, run.cost_known) == (10, 30, False)
    replies = models.Entry.objects.filter(run=run, kind="reply").order_by("position")
    assert [entry.content["text"] for entry in replies] == ["I look first.", "", "", "As recorded."]
    assert sorted(line["name"] for line in world.World.effects()) == ["b", "c", "d"]
