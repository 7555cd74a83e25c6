"""The fields of a plan step give back exactly what they were drawn from, and the pure moves of a draft."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from runs import exact, models, plan_changes
from runs.forms import plan_fields, plan_moves
from runs.selectors import plan_draft, plan_rows

BOUND = "playbook"
STEPS: tuple[dict[str, Any], ...] = (
    {"tool": "world.lookup", "with": {"name": "a", "amount": 7.0, "none": None}, "note": "two\nlines "},
    {"tool": "world.lookup", "with": {"name": "Dear Ann,\n\nhello \n", "amount": " ${input.sum}"}},
    {"tool": "world.lookup", "with": {"name": "hidden\u202e", "amount": '"1.00'}},
    {"tool": "world.look", "each": "[1]", "as": "row", "key": "row", "row_title": "R ${row}", "with": {}},
    {
        "tool": "world.allowed",
        "if": "true",
        "required": False,
        "gate": {"by": "olga"},
        "lock": {"by": "olga"},
    },
    {"tool": "world.allowed", "retry": {"times": 3, "wait": 1.5}},
    {"tool": "world.allowed", "retry": {"times": 2, "wait": 0}},
    {"tool": "world.mild", "compensate": True},
    {"ask": {"question": "How much?\nPlease.", "schema": {"type": "number"}}},
    {"ask": {"question": "How much?", "to": "finance"}},
    {"finish": {"summary": "Done.", "result": [1, {"a": "ä\u202e"}]}},
    {"group": "rows", "tool": "world.look", "with": {"name": "${not.a.template}"}, "required": True},
)


@pytest.mark.parametrize("body", STEPS)
def test_unedited_fields_change_nothing(body: dict[str, Any]) -> None:
    step = {"id": "x", "title": "A  title\u202e", "body": body}
    version = models.AgentVersion(
        provider=BOUND, tools=["world.look", "world.lookup", "world.allowed", "world.mild"]
    )
    run = models.Run(agent_version=version)
    draft = dataclasses.replace(plan_draft.of([step], base=1), opened="x")
    sent: dict[str, str] = {}
    for one in plan_rows.fields(run, step, draft):
        if one.kind == "box":
            sent[f"s-{one.name}-shown"] = "1"
        if one.kind != "box" or one.value:
            sent[f"s-{one.name}"] = one.value.replace("\n", "\r\n")  # as a browser sends it
    found, errors = plan_fields.apply(step, plan_fields.typed(sent))
    assert errors == {}
    assert exact.canonical(found) == exact.canonical(step)


def test_taking_back_is_offered_where_a_tool_can() -> None:
    """Ticked, it is written; and a tool that nothing takes back isn't asked about."""
    run = models.Run(agent_version=models.AgentVersion(provider=BOUND, tools=["world.mild", "world.allowed"]))
    offered = {}
    for tool in ("world.mild", "world.allowed"):
        step: dict[str, Any] = {"id": "x", "title": "A", "body": {"tool": tool}}
        draft = dataclasses.replace(plan_draft.of([step], base=1), opened="x")
        offered[tool] = "compensate" in {one.name for one in plan_rows.fields(run, step, draft)}
        given = {"title": "A", "compensate-shown": "1", "compensate": "on"}
        assert plan_fields.apply(step, given)[0]["body"] == {"tool": tool, "compensate": True}
    assert offered == {"world.mild": True, "world.allowed": False}


def test_a_part_that_is_no_object_can_be_put_right() -> None:
    run = models.Run(agent_version=models.AgentVersion(provider=BOUND, tools=["world.look"]))
    for name, field, given in (("ask", "question", "How?"), ("finish", "summary", "Done.")):
        step: dict[str, Any] = {"id": "x", "title": "A", "body": {name: 5}}
        draft = dataclasses.replace(plan_draft.of([step], base=1), opened="x")
        assert {one.name: one.value for one in plan_rows.fields(run, step, draft)}[field] == ""
        found, errors = plan_fields.apply(step, {"title": "A", field: given})
        assert (found["body"], errors) == ({name: {field: given}}, {})


@pytest.mark.parametrize(
    ("times", "wait", "wanted"),
    [
        ("3", "", {"times": 3}),
        (" 3 ", "2.5", {"times": 3, "wait": 2.5}),
        ("", "", None),
        ("", "5", "Say how often"),
        ("11", "", "Write a whole number from 1 to 10"),
        ("two", "", "Write a whole number"),
        ("1", "soon", "Write a whole number"),
        ("1", "86401", "seconds up to 86,400"),
    ],
)
def test_how_often_it_is_tried_again(times: str, wait: str, wanted: Any) -> None:
    step = {"id": "x", "title": "A", "body": {"tool": "world.allowed", "retry": {"times": 2, "wait": 1}}}
    found, errors = plan_fields.apply(step, {"title": "A", "retry-times": times, "retry-wait": wait})
    if isinstance(wanted, str):
        assert wanted in errors["s-retry-times"]
    else:
        assert (found["body"].get("retry"), errors) == (wanted, {})


def steps(*names: str) -> list[dict[str, Any]]:
    return [{"id": name, "title": name.upper(), "body": {"tool": name}} for name in names]


def ids(found: Any) -> str:
    return "".join(step["id"] for step in found)


def test_moves_leave_alone_what_has_started() -> None:
    plan, locked = steps(*"abcd"), {"a", "c"}
    assert ids(plan_moves.up(plan, "b", locked).steps) == "abcd"  # only locked ones stand before it
    assert ids(plan_moves.down(plan, "b", locked).steps) == "adcb"
    assert ids(plan_moves.down(plan, "a", locked).steps) == "abcd"
    assert ids(plan_moves.order(plan, ["d", "b", "a"], locked).steps) == "adcb"
    assert ids(plan_moves.remove(plan, "a", locked).steps) == "abcd"
    assert plan_moves.remove(plan, "b", locked).at == "d"


def test_what_differs_and_what_is_put_on_top() -> None:
    base, other = steps(*"abcd"), steps(*"bcad")
    assert [(one.id, one.kinds, one.was, one.now) for one in plan_changes.between(base, other)] == [
        ("a", ("moved",), 1, 3)
    ]
    # Two change places over one that stays: it isn't listed, and each says which way it went.
    swapped = plan_changes.between(base, steps(*"adcb"))
    assert [(one.id, one.was, one.now, one.up) for one in swapped] == [("d", 4, 2, True), ("b", 2, 4, False)]
    shifted = plan_changes.between(base, steps(*"xbacd"))
    assert [(one.id, one.kinds) for one in shifted] == [("x", ("added",)), ("a", ("moved",))]
    assert [one.id for one in plan_changes.between(steps(*"abcde"), steps(*"decab"))] == ["d", "e"]
    mine = [base[0], base[2], {**base[3], "title": "Mine"}, *steps("x")]  # b removed, d renamed, x added
    theirs = [*steps("y"), base[0], {**base[1], "title": "Theirs"}, *base[2:]]
    found = plan_changes.merged(base, mine, theirs)
    assert [step["title"] for step in found] == ["Y", "A", "Theirs", "C", "Mine", "X"]
    assert ids(plan_changes.merged(base, steps(*"dcba"), [*base, *steps("z")])) == "dcbaz"
    assert ids(plan_changes.merged(base, steps(*"acd"), base)) == "acd"
