"""What a model is sent stays below its window and costs the same at each step, however long the run has become."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from runs import models, state
from runs.engine import prompting, verifier
from runs.providers import building, contract, instructed, prompts
from tests.llm.conftest import Long, Start, finish, go, plan
from tests.llm.wire import Say, Server

WINDOW, OUTPUT = 4_000, 400
AGENT = contract.AgentSpec(
    name="a",
    number=1,
    provider="llm",
    model="openai:gpt-4o",
    instructions="Be short.",
    tools=("world.look",),
    definition={"facts": ["The year ends in June."]},
)


def known(lines: list[state.Line], summary: Mapping[str, Any] | None = None, **more: Any) -> building.Known:
    """What a prompt is made of."""
    given = {"agent": AGENT, "input": {"who": "Ada"}, "window": WINDOW, "output": OUTPUT, **more}
    return building.Known(lines=lines, summary=summary, **given)


def turn(at: int, *, calls: int = 1, status: str = "succeeded", text: str = "Looked.") -> list[state.Line]:
    """A reply with calls, and what came of each."""
    called = [
        {"tool": "world.look", "arguments": {"name": f"thing {at}"}, "step": None, "effect": "read"}
        for _ in range(calls)
    ]
    found: list[state.Line] = [state.Entry(at, "reply", {"text": f"Now {at}.", "calls": called, "usage": {}})]
    for index in range(calls):
        content = {"call": [at, index], "status": status, "text": text, "value": "x" * 100}
        found.append(state.Entry(at + 1 + index, "result", content))
    return found


def test_a_prompt_is_what_the_log_says() -> None:
    """Turns in order, results by call, people's words and the plan at the end; the same lines give the same prompt."""
    lines = [
        *turn(2),
        state.Entry(4, "reply", {"text": "", "calls": [
            {"tool": "world.pay", "arguments": {"sum": 1}, "step": "pay"},
            {"tool": "world.look", "arguments": {}, "step": None},
        ]}),
        state.Entry(5, "result", {"call": [4, 1], "status": "succeeded", "text": "Looked.", "value": "y" * 9_000}),
        state.Entry(6, "result", {"call": [4, 0], "status": "rejected", "text": "Not done: rita rejected it."}),
        state.Entry(7, "plan", {"version": 2, "author": "olga", "reason": "too early", "steps": []}),
        state.Entry(8, "message", {"code": "repair", "text": "Call a tool.", "final": False}),
    ]  # fmt: skip
    steps = [state.PlanStep(id="pay", title="Pay it", body={"tool": "world.pay", "note": "Later."})]
    made = building.prompt(known(lines, window=100_000, steps=steps, plan_version=2))
    assert made == building.prompt(known(lines, window=100_000, steps=steps, plan_version=2))
    first, said, answered, replied, last = made.messages
    assert first["parts"][0]["content"] == 'The input of this run:\n{"who": "Ada"}'
    assert "The year ends in June." in first["parts"][1]["content"]
    assert said == prompts.message(
        "assistant", [prompts.text("Now 2."), prompts.call("c2_0", "world_look", {"name": "thing 2"})]
    )
    assert answered["parts"][0]["response"].startswith("[succeeded] Looked.\nxxx")
    assert replied["parts"][0]["arguments"] == {"sum": 1, "plan_step": "pay"}
    one, two, edited, repair, now = last["parts"]
    assert one["response"] == "[rejected] Not done: rita rejected it."
    assert "6,000 of 9,000 characters; read on with read_more: handle 5, offset 6000" in two["response"]
    assert edited["content"] == "olga changed the plan; it is version 2 now. Reason: too early Go by it."
    assert repair["content"] == "Call a tool."
    assert now["content"].endswith("version 2:\n- [pending] pay: Pay it (with world.pay) Note: Later.")
    assert made.as_json()["version"] == prompts.VERSION
    half = "\ud800 and \x00"
    assert prompts.readable({half: half}).isprintable()
    assert prompts.tokens("Größe") == 6


def test_a_run_of_5000_entries_is_sent_in_pieces_of_one_size() -> None:
    """Each request fits the window; the last steps cost what the first did; people's words are kept."""
    summary: dict[str, Any] | None = None
    lines: list[state.Line] = []
    costs: list[int] = []
    summaries, most = 0, 0
    for at in range(2, 5_002, 5):
        rejected = at == 42
        said = ("rejected", "rita: never pay Bob.") if rejected else ("succeeded", "Ok.")
        lines += turn(at, calls=4, status=said[0], text=said[1])
        cost = 0
        while (made := building.prompt(known(lines, summary))).upto is not None:
            assert made.tokens <= WINDOW - OUTPUT
            cost, summaries = cost + made.tokens, summaries + 1
            summary = {"upto": made.upto, "text": "n" * 300, "pinned": list(made.pinned)}
            lines = [line for line in lines if line.position > made.upto]
        assert made.tokens <= WINDOW - OUTPUT
        most = max(most, len(lines))
        costs.append(cost + made.tokens)
    assert summaries > 10
    assert most < 100  # lines that a worker loads
    first, last = statistics.mean(costs[20:220]), statistics.mean(costs[-200:])
    assert last < 1.2 * first
    assert (
        "[rejected] rita: never pay Bob."
        in building.prompt(known(lines, summary)).messages[0]["parts"][3]["content"]
    )


@pytest.mark.django_db(transaction=True)
def test_a_long_run_is_summarised_as_a_step_of_its_own(server: Server, start: Start) -> None:
    """Near the window the model sums up what was; the log stays whole, the summary is paid for and a checkpoint."""
    Long.text = "A line of a long text. " * 80
    looks = 0

    def answer(body: dict[str, Any]) -> Say:
        nonlocal looks
        if instructed.SUMMARISE[:30] in repr(body):
            return Say(text=f"Notes after {looks} looks.", tokens_in=500, tokens_out=50)
        looks += 1
        return Say(calls=(("llm_long", {"name": f"page {looks}"}),)) if looks < 14 else finish()

    server.will(Say(calls=(plan("read"),)))
    server.otherwise = answer
    run = start("openai", window=6_000, max_tokens=400, budget={"tokens": 500_000, "steps": 50})
    run = go(run)
    assert run.status == "succeeded", run.error
    summaries = list(models.Checkpoint.objects.filter(run=run, kind="summary").order_by("position"))
    assert summaries
    assert [line.content["upto"] for line in summaries] == sorted(
        {line.content["upto"] for line in summaries}
    )
    assert (run.steps, run.tokens_in) == (15, 15 * 100 + 500 * len(summaries))
    newest = summaries[-1].content["text"]
    assert newest in repr(server.asked[-1])
    assert "page 1'" not in repr(server.asked[-1])
    assert "long text" in repr(server.asked[-1])
    verifier.verify()
    # What a claim loads is what the newest summary leaves.
    with CaptureQueriesContext(connection) as asked:
        lines, found = prompting.lines_of(run)
    assert found is not None
    assert found == summaries[-1].content
    assert all(line.position > found["upto"] for line in lines)
    assert len(asked) == 1


@pytest.mark.django_db(transaction=True)
def test_a_long_result_is_read_on(server: Server, start: Start) -> None:
    """It is stored whole and sent as its head; the model reads on by its handle, and not beyond this run."""
    Long.text = "".join(f"{number:06}" for number in range(2_000))
    seen: list[str] = []

    def answer(body: dict[str, Any]) -> Say:
        seen.append(repr(body["messages"]))
        handle = int(seen[1].rsplit("handle ", 1)[1].split(",")[0]) if len(seen) > 1 else 0
        calls: dict[int, tuple[str, Any]] = {
            1: ("llm_long", {}),
            2: ("read_more", {"handle": handle, "offset": 6_000}),
            3: ("read_more", {"handle": handle, "offset": 11_000}),
            4: ("read_more", {"handle": 9_999}),
        }
        return Say(calls=(calls[len(seen)],)) if len(seen) in calls else finish()

    server.otherwise = answer
    run = go(start())
    assert run.status == "succeeded", run.error
    assert "000998000999\\n… 6,000 of 12,000 characters" in seen[1].replace("\\\\", "\\")
    assert "Characters 6,000 to 11,000 of 12,000; read on at offset 11000." in seen[2]
    assert "Characters 11,000 to 12,000 of 12,000, the end." in seen[3]
    assert "There is no result with the handle 9999." in seen[4]


@pytest.mark.django_db(transaction=True)
def test_a_claim_of_a_long_run_loads_a_window(start: Start) -> None:
    """Of 5,000 lines those after the newest summary are read, in as many queries as they have pages."""
    run = start()
    rows = []
    for at in range(run.position + 1, 5_001, 2):
        reply, result = turn(at)
        rows += [
            models.Entry(
                run=run, position=line.position, kind=line.kind, content=dict(line.content), head="0" * 64
            )
            for line in (reply, result)
        ]
    content = {"upto": 4_900, "text": "Notes.", "pinned": [], "usage": {}}
    rows[-10] = models.Entry(
        run=run, position=rows[-10].position, kind="summary", content=content, head="0" * 64
    )
    models.Entry.objects.bulk_create(rows)
    models.Run.objects.filter(pk=run.pk).update(position=rows[-1].position)
    run.refresh_from_db()
    with CaptureQueriesContext(connection) as asked:
        lines, summary = prompting.lines_of(run)
    assert summary == content
    assert [lines[0].position, len(lines)] == [4_901, rows[-1].position - 4_901]
    assert len(asked) == 1
    # The input was corrected since: what was summed up rests on the old one, so it is read again.
    end = rows[-1].position + 1
    models.Entry.objects.create(
        run=run, position=end, kind="correction", content={"input": {}}, head="0" * 64
    )
    run.position = end
    lines, summary = prompting.lines_of(run)
    assert summary is None
    assert (lines[0].position, lines[-1].position) == (2, end)
