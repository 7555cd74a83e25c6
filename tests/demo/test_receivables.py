"""The demo on its own files: each leads to a few letters and one fee, and hides no row."""

import csv
import datetime
import io
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest

from runs import lifecycle, state
from runs.demo import agents, invoices, letters, setup
from runs.providers import contract as providing
from runs.providers import registry as providers
from runs.tools import contract, registry
from tests.tools.call import Call

AS_OF = datetime.date(2026, 11, 27)
GOOD = {
    "_line": 2,
    "invoice_no": "N-1",
    "customer": "Ada",
    "email": "ada@example.com",
    "amount": "120.50",
    "currency": "EUR",
    "due_date": "2026-11-01",
    "reminders_sent": "1",
}
LETTERS = {"north.csv": 4, "south.csv": 3, "west.csv": 4}
BAD = {"north.csv": 6, "south.csv": 4, "west.csv": 6}


def call(tool: str, arguments: Any, ctx: Call) -> Any:
    kind = registry.get(tool)
    return kind.run(kind.parse(arguments), ctx).value


def assessed(file: str, ctx: Call) -> Any:
    given = ctx.keep((setup.FOLDER / file).read_bytes(), file)
    read = call("files.read_csv", {"file": given, "required": agents.COLUMNS}, ctx)
    rows = {"rows": read["rows"], "bad_rows": read["bad_rows"], "as_of": AS_OF.isoformat()}
    return call("receivables.assess", rows, ctx)


@pytest.mark.parametrize("file", [file for file, _, _ in setup.RUNS])
def test_every_row_of_a_file_is_accounted_for(file: str) -> None:
    content = (setup.FOLDER / file).read_bytes()
    found = assessed(file, Call())
    lines = len(list(csv.reader(io.StringIO(content.decode("latin-1"))))) - 1
    assert 35 <= lines <= 45
    assert len(found["reminders"]) == LETTERS[file] <= 4
    assert len(found["fees"]) == 1
    assert len(found["bad"]) == BAD[file]
    sums = [len(found["reminders"]), len(found["fees"]), found["not_due"], len(found["bad"])]
    assert sum(sums) == lines
    for row in found["bad"]:
        assert f"line {row['line']}: {row['reason']}" in found["bad_text"]


def test_the_three_files_are_in_three_encodings() -> None:
    ctx = Call()
    found = set()
    for file, _, _ in setup.RUNS:
        given = ctx.keep((setup.FOLDER / file).read_bytes(), file)
        found.add(call("files.read_csv", {"file": given}, ctx)["encoding"])
    assert found == {"UTF-8", "Latin-1", "UTF-8 with a byte order mark"}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"invoice_no": ""}, "the invoice number is missing"),
        ({"invoice_no": "N 1"}, "the invoice number 'N 1' is not one"),
        ({"customer": ""}, "the customer is missing"),
        ({"email": ""}, "the e-mail address is missing"),
        ({"email": "ada(at)example.com"}, "'ada(at)example.com' is not an e-mail address"),
        ({"amount": ""}, "the amount is missing"),
        ({"amount": "-5.00"}, "the amount -5.00 is not above zero"),
        ({"amount": "0"}, "the amount 0 is not above zero"),
        ({"amount": "1.250,00"}, "the amount '1.250,00' is not a sum of money, as in 1250.00"),
        ({"amount": "1e3"}, "the amount '1e3' is not a sum of money, as in 1250.00"),
        ({"amount": "\u0663"}, "the amount '\u0663' is not a sum of money, as in 1250.00"),
        ({"currency": "Euro"}, "the currency 'Euro' is not one, as in EUR"),
        ({"due_date": ""}, "the due date is missing"),
        ({"due_date": "2026-02-30"}, "the due date '2026-02-30' is not a day, as in 2026-10-31"),
        ({"due_date": "20261101"}, "the due date '20261101' is not a day, as in 2026-10-31"),
        ({"reminders_sent": "two"}, "the number of reminders 'two' is not one"),
    ],
)
def test_a_row_that_cannot_be_used_says_why(changes: dict[str, str], reason: str) -> None:
    found = invoices.assess([GOOD | changes], AS_OF)
    assert found.bad == ((2, reason),)
    assert found.reminders == found.fees == ()


def test_the_same_number_twice_makes_both_rows_bad() -> None:
    found = invoices.assess([GOOD, GOOD | {"_line": 3, "invoice_no": "n-1"}], AS_OF)
    assert [line for line, _ in found.bad] == [2, 3]
    assert "stands in the file 2 times" in found.bad[0][1]


@pytest.mark.parametrize(
    ("late", "sent", "stage", "fee"),
    [
        (-3, "0", None, False),
        (6, "0", None, False),
        (7, "0", 1, False),
        (20, "1", None, False),
        (21, "1", 2, False),
        (35, "0", 1, False),
        (59, "3", None, False),
        (60, "2", 3, False),
        (60, "3", None, True),
        (60, "", 1, False),
    ],
)
def test_who_is_reminded_and_who_is_charged(late: int, sent: str, stage: int | None, fee: bool) -> None:
    due = (AS_OF - datetime.timedelta(days=late)).isoformat()
    found = invoices.assess([GOOD | {"due_date": due, "reminders_sent": sent}], AS_OF)
    assert [one.stage(AS_OF) for one in found.reminders] == ([stage] if stage else [])
    assert len(found.fees) == (1 if fee else 0)
    assert found.not_due == (0 if stage or fee else 1)


@pytest.mark.parametrize("text", ["120.5", "120,50", "120.50"])
def test_amounts_stay_exact(text: str) -> None:
    assert invoices.parse(GOOD | {"amount": text}, 2).amount == Decimal("120.50")


@pytest.mark.parametrize("stage", [1, 2, 3])
def test_a_letter_names_invoice_sum_and_days(stage: int) -> None:
    text = letters.body(
        stage,
        customer="Ada",
        number="N-{x}",
        amount=Decimal("1234.50"),
        currency="EUR",
        due=datetime.date(2026, 10, 20),
        as_of=AS_OF,
    )
    for words in ("Dear Ada team", "N-{x}", "1,234.50 EUR", "20 October 2026", "7 December 2026"):
        assert words in " ".join(text.split())
    assert letters.subject(stage, "N-1")


def test_the_declared_agent_runs_to_its_summary() -> None:
    """The playbook with its real tools, effects refused or done by hand: what the engine does around them."""
    ctx, provider = Call(), providers.get("playbook")
    declared = agents.RECEIVABLES
    provider.check(declared.definition, declared.tools)
    given = {"file": ctx.keep((setup.FOLDER / "north.csv").read_bytes(), "north.csv"), "as_of": "2026-11-27"}
    agent = providing.AgentSpec(
        name=declared.name,
        number=1,
        provider=declared.provider,
        model="",
        instructions="",
        tools=declared.tools,
        definition=declared.definition,
    )
    plan: tuple[state.PlanStep, ...] = ()
    results: dict[str, Any] = {}
    proposed: dict[str, list[Any]] = {}
    for _ in range(20):
        window = tuple(step for step in plan if step.state not in lifecycle.STEP_CLOSED)
        reply = provider.complete(
            providing.Request(
                agent=agent,
                input=given,
                planned=bool(plan),
                plan=window,
                results={name: results.get(name) for name in provider.references(agent, window)},
            ),
            timeout=1,
        )
        closed: dict[str, str] = {}
        for number, one in enumerate(reply.calls):
            if one.tool == providing.FINISH:
                assert one.arguments["summary"].startswith(
                    "4 reminders: 3 sent, 1 not released. 1 late fee: 1 posted. 6 rows could not be used (line 7: "
                )
                assert len(one.arguments["result"]["bad"]) == 6
                assert len(proposed["email.send"]) == 4
                assert proposed["ledger.post_late_fee"][0]["amount"] == "40.00"
                return
            if one.tool == providing.PLAN:
                steps = tuple(
                    state.PlanStep(id=raw["id"], title=raw["title"], body=raw["body"])
                    for raw in one.arguments["steps"]
                )
                at = next((n for n, step in enumerate(plan) if step.id == one.arguments.get("replace")), None)
                plan = steps if at is None else (*plan[:at], *steps, *plan[at + 1 :])
                continue
            assert one.step is not None
            tool = registry.get(one.tool)
            tool.settled(one.arguments)
            if tool.effect == contract.Effect.READ:
                results[one.step] = call(one.tool, one.arguments, ctx)
                closed[one.step] = lifecycle.Step.DONE
                continue
            proposed.setdefault(one.tool, []).append(one.arguments)
            refused = one.tool == "email.send" and number == 1
            closed[one.step] = lifecycle.Step.REFUSED if refused else lifecycle.Step.DONE
        plan = tuple(replace(step, state=closed.get(step.id, step.state)) for step in plan)
        results["remind"] = sums(plan, "remind")
        results["fee"] = sums(plan, "fee")
    pytest.fail("the playbook did not come to its end")


def sums(plan: tuple[state.PlanStep, ...], group: str) -> dict[str, Any]:
    rows = [step for step in plan if step.group == group]
    counts = {
        name: sum(step.state == name for step in rows)
        for name in ("done", "refused", "failed", "skipped", "kept", "simulated")
    }
    return {
        "rows": [{"id": step.id, "title": step.title, "state": step.state} for step in rows],
        "total": len(rows),
    } | counts


@pytest.mark.parametrize(
    ("customer", "reason"),
    [
        ("Acme\nBcc: x@example.com", "holds a line break or a control character"),
        ("Acme\x1b[2J", "holds a line break or a control character"),
        ("Acme\x80", "holds a line break or a control character"),
        ("A" * 201, "has 201 characters; 200 are allowed"),
    ],
)
def test_a_name_that_no_letter_can_carry_is_a_bad_row(customer: str, reason: str) -> None:
    found = invoices.assess([GOOD, GOOD | {"invoice_no": "N-2", "customer": customer}], AS_OF)
    assert len(found.bad) == 1
    assert reason in found.bad[0][1]
