"""The playbook provider: pure, one reply at a time, every row of a loop a step of its own."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from runs import lifecycle, state
from runs.providers import contract, playbook, playbook_format

TOOLS = ("files.read_csv", "email.send", "ledger.post")
DEFINITION: dict[str, Any] = {
    "steps": [
        {
            "id": "read",
            "title": "Read ${input.file.path}",
            "tool": "files.read_csv",
            "with": {"file": "${input.file}"},
        },
        {
            "id": "remind",
            "title": "Send reminders",
            "each": "steps.read.rows",
            "as": "row",
            "if": "row.days > 14",
            "key": "row.no",
            "row_title": "Remind ${row.name}",
            "tool": "email.send",
            "with": {"to": "${row.mail}", "body": "Dear ${row.name}", "days": "${row.days}"},
            "required": False,
            "note": "one letter a customer",
        },
        {
            "id": "fee",
            "title": "Post a fee",
            "if": "steps.remind.done > 0",
            "tool": "ledger.post",
            "with": {"count": "${steps.remind.done}"},
        },
        {
            "id": "end",
            "finish": {
                "summary": "${plural(steps.remind.done, 'letter')} sent.",
                "result": "${steps.remind.rows}",
            },
        },
    ]
}
ROWS = [
    {"no": "A 1", "name": "Ada", "mail": "ada@example.com", "days": 20},
    {"no": "B 2", "name": "${input}", "mail": "bob@example.com", "days": 3},
    {"no": "A/1", "name": "${1 + 1}", "mail": "eve@example.com", "days": 40},
]
PROVIDER = playbook.Playbook()


def agent(definition: Mapping[str, Any] = DEFINITION) -> contract.AgentSpec:
    return contract.AgentSpec(
        name="a", number=1, provider="playbook", model="", instructions="", tools=TOOLS, definition=definition
    )


class Desk:
    """What the engine does around a provider: keeps plan and results, asks for what is referenced."""

    def __init__(self, definition: Mapping[str, Any] = DEFINITION) -> None:
        self.agent = agent(definition)
        self.plan: tuple[state.PlanStep, ...] = ()
        self.planned = False
        self.results: dict[str, Any] = {}
        self.asked: frozenset[str] = frozenset()

    def request(self) -> contract.Request:
        window = tuple(step for step in self.plan if step.state not in lifecycle.STEP_CLOSED)
        self.asked = PROVIDER.references(self.agent, window)
        return contract.Request(
            agent=self.agent,
            input={"file": {"path": "open.csv", "sha256": "0" * 64}},
            planned=self.planned,
            plan=window,
            results={name: self.results.get(name) for name in self.asked},
        )

    def turn(self) -> contract.Reply:
        request = self.request()
        reply = PROVIDER.complete(request, timeout=1)
        assert reply == PROVIDER.complete(request, timeout=1)
        assert reply.text
        for call in reply.calls:
            if call.tool == contract.PLAN:
                self.merge(call.arguments)
        return reply

    def merge(self, plan: Mapping[str, Any]) -> None:
        if "skip" in plan:
            self.mark(plan["skip"], lifecycle.Step.SKIPPED)
            return
        new = tuple(
            state.PlanStep(id=raw["id"], title=raw["title"], body=raw["body"]) for raw in plan["steps"]
        )
        if "replace" in plan:
            at = [step.id for step in self.plan].index(plan["replace"])
            new = (*self.plan[:at], *new, *self.plan[at + 1 :])
        self.plan, self.planned = new, True

    def mark(self, step_id: str, value: str, result: Any = None) -> None:
        self.plan = tuple(replace(step, state=value) if step.id == step_id else step for step in self.plan)
        self.results[step_id] = result


def group(done: int, refused: int = 0) -> dict[str, Any]:
    return {**playbook._EMPTY_GROUP, "total": done + refused, "done": done, "refused": refused}


def test_a_playbook_from_plan_to_finish() -> None:
    desk = Desk()
    PROVIDER.check(DEFINITION, TOOLS)
    assert [call.tool for call in desk.turn().calls] == ["plan"]
    assert [step.title for step in desk.plan] == ["Read open.csv", "Send reminders", "Post a fee", "end"]

    read = desk.turn()
    assert desk.asked == frozenset()
    assert [(call.tool, call.step) for call in read.calls] == [("files.read_csv", "read")]
    assert read.calls[0].arguments == {"file": {"path": "open.csv", "sha256": "0" * 64}}
    desk.mark("read", lifecycle.Step.DONE, {"rows": ROWS})

    expanded = desk.turn().calls[0].arguments
    assert desk.asked == {"read"}
    assert expanded["replace"] == "remind"
    assert [step.id for step in desk.plan] == ["read", "remind-A-1", "remind-A-1~2", "fee", "end"]
    assert desk.plan[1].title == "Remind Ada"
    assert desk.plan[1].group == "remind"
    assert not desk.plan[1].required
    assert desk.plan[1].body["note"] == "one letter a customer"

    letters = desk.turn()
    assert desk.asked == frozenset()
    assert [call.step for call in letters.calls] == ["remind-A-1", "remind-A-1~2"]
    assert letters.calls[0].arguments == {"to": "ada@example.com", "body": "Dear Ada", "days": 20}
    # What came from outside is text, also where it looks like a template.
    assert letters.calls[1].arguments["body"] == "Dear ${1 + 1}"
    desk.mark("remind-A-1", lifecycle.Step.DONE)
    desk.mark("remind-A-1~2", lifecycle.Step.REFUSED)
    desk.results["remind"] = group(1, 1)

    fee = desk.turn()
    assert desk.asked == {"remind"}
    assert fee.calls[0].arguments == {"count": 1}
    desk.mark("fee", lifecycle.Step.DONE)

    end = desk.turn()
    assert end.calls[0].tool == contract.FINISH
    assert end.calls[0].arguments == {"summary": "1 letter sent.", "result": []}
    assert end.text == "1 letter sent."


def test_a_loop_without_rows_is_taken_out_and_its_sums_are_zero() -> None:
    desk = Desk()
    desk.turn()
    desk.mark("read", lifecycle.Step.DONE, {"rows": ROWS[1:2]})
    assert desk.turn().calls[0].arguments["steps"] == []
    assert [step.id for step in desk.plan] == ["read", "fee", "end"]
    skip = desk.turn()
    assert skip.calls[0].arguments["skip"] == "fee"
    assert "steps.remind.done > 0" in skip.calls[0].arguments["reason"]
    assert desk.turn().calls[0].arguments["summary"] == "0 letters sent."


def test_at_most_twenty_calls_stand_side_by_side_and_none_of_another_group() -> None:
    desk = Desk()
    desk.turn()
    rows = [{"no": n, "name": "N", "mail": "n@example.com", "days": 15} for n in range(45)]
    desk.mark("read", lifecycle.Step.DONE, {"rows": rows})
    desk.turn()
    sizes = []
    while (reply := desk.turn()).calls[0].tool == "email.send":
        sizes.append(len(reply.calls))
        for call in reply.calls:
            assert call.step is not None
            desk.mark(call.step, lifecycle.Step.DONE)
    assert sizes == [20, 20, 5]


def test_a_failed_step_is_done_again_if_required_and_passed_over_if_not() -> None:
    desk = Desk()
    desk.turn()
    desk.mark("read", lifecycle.Step.FAILED)
    assert desk.turn().calls[0].step == "read"
    desk.mark("read", lifecycle.Step.DONE, {"rows": ROWS})
    desk.turn()
    desk.mark("remind-A-1", lifecycle.Step.FAILED)
    assert [call.step for call in desk.turn().calls] == ["remind-A-1~2"]


def test_an_edited_row_is_what_is_called() -> None:
    desk = Desk()
    desk.turn()
    desk.mark("read", lifecycle.Step.DONE, {"rows": ROWS[:1]})
    desk.turn()
    edited = {**desk.plan[1].body, "with": {"to": "boss@example.com"}}
    desk.plan = (desk.plan[0], replace(desk.plan[1], body=edited), *desk.plan[2:])
    assert desk.turn().calls[0].arguments == {"to": "boss@example.com"}


def test_a_plan_without_an_end_still_ends() -> None:
    desk = Desk()
    desk.planned = True
    assert desk.turn().calls[0].arguments == {"summary": "All steps are done.", "result": None}


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (None, "Step 'remind'"),
        ({"rows": {"a": 1}}, "must give a list"),
        ({"rows": [{"days": 20, "no": True}]}, "key of a row"),
        ({"rows": [{"days": 20, "no": "x"}]}, "there is no 'name'"),
        ({"rows": [{"days": "20"}]}, "types don't fit"),
        ({"rows": [{}] * 501}, "the limit is 500"),
    ],
)
def test_what_goes_wrong_names_the_step(result: Any, words: str) -> None:
    desk = Desk()
    desk.turn()
    desk.mark("read", lifecycle.Step.DONE, result)
    with pytest.raises(contract.ProviderError) as caught:
        desk.turn()
    assert str(caught.value).startswith("Step 'remind': ")
    assert words in str(caught.value)
    assert not caught.value.retryable


def test_a_condition_that_is_not_true_or_false_is_no_silent_skip() -> None:
    steps = [
        {"id": "a", "tool": "email.send", "if": "'yes'"},
        DEFINITION["steps"][3] | {"finish": {"summary": "x"}},
    ]
    desk = Desk({"steps": steps})
    desk.turn()
    with pytest.raises(contract.ProviderError, match="must give true or false"):
        desk.turn()


def step(number: int, **changes: Any) -> dict[str, Any]:
    steps = [dict(raw) for raw in DEFINITION["steps"]]
    steps[number] |= changes
    return {"steps": [{key: item for key, item in raw.items() if item is not ...} for raw in steps]}


@pytest.mark.parametrize(
    ("definition", "words"),
    [
        ({}, "needs a list of 'steps'"),
        ({"steps": []}, "needs a list of 'steps'"),
        ({"steps": [{"id": "a"}], "loop": 1}, "no key 'loop'"),
        ({"steps": ["a"]}, "Step 1 needs an 'id'"),
        (step(0, id="Read"), "Step 1 needs an 'id'"),
        (step(0, tool="shell.run"), "the agent has no tool 'shell.run'"),
        (step(0, tool=...), "either a 'tool' or a 'finish'"),
        (step(0, retries=3), "there is no key 'retries'"),
        (step(0, **{"with": []}), "'with' must be an object"),
        (step(0, required="no"), "'required' must be true or false"),
        (step(0, title="${steps.read}"), "'steps' in 'steps.read' is not known here"),
        (step(0, key="1"), "only mean something together with 'each'"),
        (step(1, **{"as": ...}), "'each' and 'as' go together"),
        (step(1, **{"as": "steps"}), "can't be called 'steps'"),
        (step(1, each="steps.fee.rows"), "'fee', which is no earlier step"),
        (step(1, **{"if": "row.days >"}), "Syntax error"),
        (step(1, **{"with": {"to": "${other.mail}"}}), "'other' in 'other.mail' is not known here"),
        (step(1, **{"with": {"to": "${row.mail"}}), "no closing }"),
        (step(2, id="read"), "used twice"),
        (step(2, id="remind-1"), "could not be told from a row"),
        (step(2, **{"if": "size(steps) > 0"}), "without saying which"),
        (step(3, finish=..., tool="email.send"), "the last step, and only the last one"),
        (step(3, finish={"result": 1}), "must have a 'summary'"),
        (step(0, tool=..., ask={"schema": {}}), "'ask' must have a 'question'"),
        (
            step(0, **{"tool": ..., "with": ..., "ask": {"question": "${nothing}?"}}),
            "'nothing' in 'nothing' is not known here",
        ),
        (
            step(0, **{"tool": ..., "with": ..., "ask": {"question": "x", "schema": {"$ref": "#"}}}),
            "refers to itself",
        ),
        (step(3, finish={"summary": "x", "sum": 1}), "must have a 'summary'"),
    ],
)
def test_a_wrong_playbook_is_refused_in_one_sentence(definition: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        PROVIDER.check(definition, TOOLS)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_schema_names_exactly_the_keys_that_are_read() -> None:
    schema = playbook_format.SCHEMA["$defs"]["step"]
    assert schema["additionalProperties"] is False
    named = "id title tool with each as key row_title if required retry gate compensate note ask finish"
    assert set(schema["properties"]) == set(named.split())
