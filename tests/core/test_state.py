"""The fold: what each line of the log does to the state, and which lines it refuses."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

import pytest

from runs import state
from runs.state import Entry, State

LATER = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC).isoformat()
USAGE = {"tokens_in": 3, "tokens_out": 2, "cost_micro": 5}


def call(effect: str = "irreversible", **more: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "tool": "t",
        "arguments": {},
        "step": None,
        "label": "",
        "effect": effect,
        "tier": 2,
        "digest": "d",
    }
    return given | more


def lines(*kinds: tuple[str, Mapping[str, Any]]) -> list[Entry]:
    return [
        Entry(position=at, kind=kind, content=content) for at, (kind, content) in enumerate(kinds, start=1)
    ]


def reply(*calls: dict[str, Any], **usage: Any) -> tuple[str, dict[str, Any]]:
    return "reply", {"text": "", "calls": list(calls), "usage": USAGE | usage}


def intent(number: int = 1) -> tuple[str, dict[str, Any]]:
    return "intent", {
        "call": [1, 0],
        "attempt": number,
        "fence": number,
        "deadline": LATER,
        "horizon": LATER,
        "status": "intent",
    }


def on(status: str, kind: str = "decision", **more: Any) -> tuple[str, dict[str, Any]]:
    given: dict[str, Any] = {"call": [1, 0], "status": status, "verdict": "review"}
    return kind, given | more


APPROVED = (reply(call()), on("held", "verdict", review=7), on("approved"))


def test_a_new_run_is_empty() -> None:
    assert state.fold([]) == State()
    assert state.fold(lines(("input", {"input": {"a": 1}}))).input == {"a": 1}
    corrected = state.fold(lines(("input", {"input": {"a": 1}}), ("correction", {"input": {"a": 2}})))
    assert (corrected.input, corrected.position) == ({"a": 2}, 2)


def test_replies_cost_and_open_calls() -> None:
    folded = state.fold(lines(reply(call(), call("read")), reply(call("control"), cost_micro=None)))
    assert folded.counters.as_json() == {
        "steps": 2, "calls": 0, "tokens_in": 6, "tokens_out": 4, "cost_micro": 5, "cost_known": False,
    }  # fmt: skip
    assert [item.id for item in folded.open_calls()] == [(1, 0), (1, 1), (2, 0)]
    assert [item.is_effect for item in folded.open_calls()] == [True, False, False]


def test_an_unknown_price_stays_unknown() -> None:
    assert not state.fold(lines(reply(cost_micro=None), reply())).counters.cost_known


def test_a_call_from_proposal_to_result() -> None:
    folded = state.fold(lines(*APPROVED, intent()))
    assert folded.calls[1, 0].unsettled
    assert folded.calls[1, 0].attempts[0].outcome is None
    done = state.fold(
        lines(
            *APPROVED,
            intent(),
            ("receipt", {"call": [1, 0], "attempt": 1, "outcome": "happened", "status": "succeeded"}),
            ("result", {"call": [1, 0], "status": "succeeded", "text": "Done.", "ran": True, "value": 4}),
        )
    )
    assert done.open_calls() == ()
    assert (done.counters.calls, done.calls[1, 0].attempts[0].outcome) == (1, "happened")
    assert done.results == {}  # it belonged to no step


def test_one_receipt_settles_one_attempt_and_number_zero_all_open_ones() -> None:
    twice = lines(
        *APPROVED, intent(1), intent(2), ("receipt", {"call": [1, 0], "attempt": 1, "outcome": "unknown"})
    )
    assert [item.outcome for item in state.fold(twice).calls[1, 0].attempts] == ["unknown", None]
    every = {"call": [1, 0], "attempt": 0, "outcome": "did_not_happen", "status": "failed"}
    settled = state.fold([Entry(position=7, kind="receipt", content=every)], state.fold(twice))
    assert [item.outcome for item in settled.calls[1, 0].attempts] == ["did_not_happen", "did_not_happen"]


def test_a_failed_read_counts_and_stays_open() -> None:
    folded = state.fold(
        lines(reply(call("read")), ("receipt", {"call": [1, 0], "attempt": 0, "outcome": "failed"}))
    )
    assert (folded.calls[1, 0].failures, folded.calls[1, 0].closed) == (1, False)


def test_sending_back_forgets_the_review_and_an_undo_window_ends_with_a_new_verdict() -> None:
    window = state.fold(lines(*APPROVED[:2], on("approved", not_before=LATER)))
    assert window.calls[1, 0].not_before == LATER
    again = state.fold([Entry(position=4, kind="decision", content=on("held")[1])], window)
    assert again.calls[1, 0].review is None
    asked = state.fold([Entry(position=5, kind="verdict", content=on("held", review=8)[1])], again)
    assert (asked.calls[1, 0].review, asked.calls[1, 0].not_before) == (8, None)


def plan(version: int, *ids: str, replace: str | None = None) -> tuple[str, dict[str, Any]]:
    steps = [{"id": name, "title": name.upper(), "body": {}} for name in ids]
    return "plan", {"version": version, "steps": steps, "replace": replace}


def test_a_plan_keeps_states_by_id_and_a_loop_becomes_rows() -> None:
    folded = state.fold(
        lines(
            plan(1, "a", "loop", "z"),
            ("mark", {"step": "a", "state": "done"}),
            plan(2, "loop/1", "loop/2", replace="loop"),
            reply(call("read", step="loop/1")),
        )
    )
    assert [(item.id, item.state) for item in folded.plan] == [
        ("a", "done"), ("loop/1", "active"), ("loop/2", "pending"), ("z", "pending"),
    ]  # fmt: skip
    assert folded.plan_version == 2
    closed = {"call": [4, 0], "status": "succeeded", "text": "", "ran": True, "value": [1], "step": "loop/1"}
    after = state.fold([Entry(position=5, kind="result", content=closed | {"step_state": "done"})], folded)
    assert after.results == {"loop/1": [1]}
    assert after.plan[1].state == "done"
    whole = state.fold([Entry(position=6, kind="plan", content=plan(3, "z", "a")[1])], after)
    assert [(item.id, item.state) for item in whole.plan] == [("z", "pending"), ("a", "done")]


def test_a_run_ends_and_is_reopened() -> None:
    ended = lines(("input", {"input": {}}), ("end", {"status": "failed"}))
    assert state.fold(ended).ended == "failed"
    assert state.fold([*ended, Entry(position=3, kind="note", content={"reopened": True})]).ended is None


@pytest.mark.parametrize(
    ("entries", "why"),
    [
        (lines(on("approved")), r"position 1 \(decision\)"),  # there is no such call
        (lines(reply(call()), intent()), r"position 2 \(intent\).*'proposed' to 'intent'"),
        (lines(*APPROVED, on("held", "verdict", call=[1, 1])), r"position 4 \(verdict\)"),
        (lines(reply(call()), on("succeeded", "result", text="", ran=True)), "'proposed' to 'succeeded'"),
        (lines(*APPROVED, intent(), on("rejected")), "'intent' to 'rejected'"),
        (lines(*APPROVED, intent(), on("in_doubt", "verdict"), intent(2)), "'in_doubt' to 'intent'"),
        (lines(reply(call()), on("denied"), on("approved")), "'denied' to 'approved'"),
        (lines(*APPROVED, on("forgotten")), "'approved' to 'forgotten'"),
        (lines(("reply", {"text": "", "calls": []})), r"position 1 \(reply\): 'usage'"),
        (lines(reply({"tool": "t"})), r"position 1 \(reply\)"),
        (lines(plan(1, "a"), plan(2, "b", replace="gone")), r"position 2 \(plan\)"),
        (lines(("mark", {"step": "a"})), r"position 1 \(mark\): 'state'"),
        (lines(("end", {})), r"position 1 \(end\)"),
        (lines(("input", {})), r"position 1 \(input\)"),
        (lines(*APPROVED, ("intent", {"call": [1, 0], "status": "intent"})), r"position 4 \(intent\)"),
    ],
)
def test_a_line_that_the_rules_don_t_allow_is_refused_by_position(entries: list[Entry], why: str) -> None:
    with pytest.raises(state.Broken, match=why):
        state.fold(entries)
