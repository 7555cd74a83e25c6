"""The next move: each rule of the planner, on situations written out by hand."""

from __future__ import annotations

import datetime
from datetime import timedelta
from typing import Any

import pytest

from runs import planner
from runs.planner import Situation
from runs.state import Attempt, CallState, Counters, State

NOW = datetime.datetime(2026, 6, 1, 12, tzinfo=datetime.UTC)
TOOLS = {
    name: planner.ToolFacts(protection=name, key_window=timedelta(hours=10))
    for name in ("lookup", "idempotent", "unprotected")
}


def call(index: int = 0, status: str = "proposed", **more: Any) -> CallState:
    given: dict[str, Any] = {
        "id": (5, index),
        "tool": "lookup",
        "effect": "irreversible",
        "tier": 2,
        "step": None,
        "digest": "d",
        "status": status,
    }
    return CallState(**(given | more))


def read(index: int = 0, **more: Any) -> CallState:
    return call(index, effect="read", **more)


def finish(index: int = 0) -> CallState:
    return call(index, effect="control", tool="finish")


def sent(tool: str, *, ago: float, times: int = 1, index: int = 0) -> CallState:
    """Return an intent whose horizon passed `ago` seconds ago."""
    horizon = (NOW - timedelta(seconds=ago)).isoformat()
    attempts = tuple(
        Attempt(number=number, fence=number, deadline=horizon, horizon=horizon)
        for number in range(1, times + 1)
    )
    return call(index, "intent", tool=tool, attempts=attempts)


def situation(*calls: CallState, **more: Any) -> Situation:
    state = State(calls={item.id: item for item in calls}, counters=more.pop("counters", Counters()))
    return Situation(state=state, now=NOW, tools=TOOLS, **more)


def move(*calls: CallState, **more: Any) -> planner.Move:
    return planner.next_move(situation(*calls, **more))


def test_with_nothing_open_the_provider_is_asked() -> None:
    assert move() == planner.CallModel()
    assert move(call(status="succeeded", closed=True)) == planner.CallModel()


@pytest.mark.parametrize("more", [{}, {"stop": True}, {"hold": True}, {"attempts": 99}])
def test_the_inbox_is_read_before_anything_else(more: dict[str, Any]) -> None:
    everything = (call(status="approved"), read(1), sent("unprotected", ago=1, index=2), finish(3))
    assert move(*everything, inbox=2, folded=1, **more) == planner.FoldIn()
    assert move(*everything, inbox=2, folded=2, **more) != planner.FoldIn()


def test_every_proposed_effect_is_prepared_together_and_before_reads() -> None:
    held = call(1, "held")
    assert move(call(), held, read(2)) == planner.Prepare(calls=(call(), held))
    assert move(call(1, "held", review=4)) == planner.Wait(reason="review")


def test_reads_run_together_and_before_effects() -> None:
    assert move(call(0, "approved"), read(1), read(2)) == planner.Read(calls=(read(1), read(2)))


def test_a_failed_read_waits_for_its_back_off_and_holds_up_nothing() -> None:
    at = NOW + timedelta(seconds=4)
    assert move(read(1), retry_at={(5, 1): at}) == planner.Later(at=at, reason="backoff")
    assert move(read(1), retry_at={(5, 1): NOW}) == planner.Read(calls=(read(1),))
    approved = call(0, "approved")
    assert move(approved, read(1), retry_at={(5, 1): at}) == planner.Act(call=approved)


def test_effects_go_one_at_a_time_in_call_order() -> None:
    first, second = call(0, "approved"), call(1, "approved")
    assert move(second, first) == planner.Act(call=first)
    assert move(call(0, "held", review=1), second) == planner.Act(call=second)


def test_an_undo_window_is_kept() -> None:
    start = NOW + timedelta(seconds=10)
    waiting = call(0, "approved", not_before=start.isoformat())
    assert move(waiting) == planner.Later(at=start, reason="undo_window")
    over = call(0, "approved", not_before=NOW.isoformat())
    assert move(over) == planner.Act(call=over)
    assert move(waiting, call(1, "approved")) == planner.Act(call=call(1, "approved"))


def test_a_blocked_effect_waits_for_the_block() -> None:
    assert move(call(0, "approved"), blocked=frozenset({(5, 0)})) == planner.Wait(reason="blocked")
    assert move(call(0, "approved"), call(1, "approved"), blocked=frozenset({(5, 0)})) == planner.Act(
        call=call(1, "approved")
    )
    assert move(call(0, "held"), blocked=frozenset({(5, 0)})) == planner.Wait(reason="blocked")
    assert move(call(0, "held")) == planner.Prepare(calls=(call(0, "held"),))


def test_the_earliest_alarm_wakes_the_run() -> None:
    early, late = NOW + timedelta(seconds=3), NOW + timedelta(seconds=9)
    calls = (read(0), call(1, "approved", not_before=early.isoformat()))
    assert move(*calls, retry_at={(5, 0): late}) == planner.Later(at=early, reason="undo_window")


def test_a_run_finishes_only_when_all_else_is_closed() -> None:
    assert move(finish()) == planner.Finish(call=finish())
    assert move(finish(), call(1, "held", review=3)) == planner.Wait(reason="review")
    assert move(finish(), read(1)) == planner.Read(calls=(read(1),))


def test_a_failed_required_step_fails_the_run_once_the_others_are_closed() -> None:
    assert move(failed_step="Sending failed.") == planner.Fail(cause="Sending failed.")
    assert move(finish(), failed_step="Sending failed.") == planner.Fail(cause="Sending failed.")
    assert move(read(), failed_step="Sending failed.") == planner.Read(calls=(read(),))


def test_an_advance_is_refilled_before_what_it_does_not_cover() -> None:
    assert move(left={"steps": 1, "calls": 0, "seconds": 1}) == planner.CallModel()
    assert move(left={"steps": 0}) == planner.Refill(need={"steps": 1, "seconds": 1})
    assert move(left={"seconds": 0}) == planner.Refill(need={"steps": 1, "seconds": 1})
    need = {"calls": 1, "seconds": 1}
    assert move(read(), left={"calls": 0}) == planner.Refill(need=need | {"calls:lookup": 1})
    assert move(read(0), read(1), left={"calls": 1}) == planner.Read(calls=(read(0),))
    sent_one = planner.Refill(need=need | {"calls:send": 1})
    assert move(call(0, "approved", tool="send"), left={"calls": 0}) == sent_one
    # Of one tool: the others go on.
    left = {"calls": 9, "calls:send": 0}
    assert move(call(0, "approved", tool="send"), left=left) == sent_one
    assert move(call(0, "approved", tool="send"), read(1), left=left) == planner.Read(calls=(read(1),))
    assert move(read(0), read(1), left={"calls:lookup": 1}) == planner.Read(calls=(read(0),))
    short = {"calls:lookup": 0}
    assert move(read(0), call(1, "approved", tool="send"), left=short) == planner.Act(
        call=call(1, "approved", tool="send")
    )
    assert move(finish(), left={"steps": 0, "calls": 0}) == planner.Finish(call=finish())


def test_only_a_run_with_nothing_else_to_do_may_have_been_calling() -> None:
    assert planner.was_calling(situation(inbox=3, hold=True, stop=True, left={"steps": 0}))
    assert not planner.was_calling(situation(read()))
    assert not planner.was_calling(situation(call(0, "held", review=3)))


def test_a_stop_starts_nothing_and_ends_the_run() -> None:
    for open_call in (call(), call(0, "approved"), call(0, "held", review=1), read(), finish()):
        assert move(open_call, stop=True) == planner.Cancel()
    assert move(stop=True, hold=True) == planner.Cancel()


def test_a_stop_waits_until_the_world_is_known() -> None:
    assert move(call(0, "in_doubt"), stop=True) == planner.Wait(reason="stop_unsettled")
    young = sent("lookup", ago=-8)
    later = planner.Later(at=NOW + timedelta(seconds=8), reason="horizon")
    assert move(young, stop=True, looked=frozenset({(5, 0)})) == later


def test_a_hold_pauses_but_first_settles_what_was_sent() -> None:
    assert move(call(0, "approved"), hold=True) == planner.Pause()
    doubted = sent("unprotected", ago=1)
    assert isinstance(move(doubted, hold=True), planner.Doubt)


def test_a_run_that_loses_its_workers_fails_unless_the_world_is_unknown() -> None:
    assert move(read(), attempts=5, poison=5) == planner.Read(calls=(read(),))
    found = move(read(), attempts=6, poison=5)
    assert isinstance(found, planner.Fail)
    assert "5 workers" in found.detail
    assert move(call(0, "in_doubt"), attempts=6, poison=5) == planner.Wait(reason="review")


def test_an_unprotected_outcome_is_asked_at_once() -> None:
    for ago in (-100, 0, 100):
        found = move(sent("unprotected", ago=ago))
        assert isinstance(found, planner.Doubt)
    assert isinstance(move(sent("no such tool", ago=0)), planner.Doubt)


def test_the_same_key_is_sent_again_inside_its_window() -> None:
    open_call = sent("idempotent", ago=-5)
    inside = {(5, 0): NOW - timedelta(hours=8.9)}
    assert move(open_call, first_sent=inside) == planner.Act(call=open_call, resend=True)


@pytest.mark.parametrize(
    "more",
    [
        {"first_sent": {(5, 0): NOW - timedelta(hours=9)}},  # a tenth of the window is kept as margin
        {"first_sent": {}},
        {"first_sent": {(5, 0): NOW}, "stop": True},
        {"first_sent": {(5, 0): NOW}, "max_sends": 1},
    ],
)
def test_outside_its_window_stopped_or_sent_too_often_the_same_key_is_not_sent(more: dict[str, Any]) -> None:
    found = move(sent("idempotent", ago=-5), **more)
    assert isinstance(found, planner.Doubt)


def test_the_world_is_looked_at_once_before_the_horizon_and_believed_after_it() -> None:
    young = sent("lookup", ago=-8)
    assert move(young) == planner.LookUp(call=young, absence_counts=False, may_send=True)
    assert move(young, looked=frozenset({(5, 0)})) == planner.Later(
        at=NOW + timedelta(seconds=8), reason="horizon"
    )
    old = sent("lookup", ago=0)
    assert move(old, looked=frozenset({(5, 0)})) == planner.LookUp(
        call=old, absence_counts=True, may_send=True
    )


def test_after_the_last_send_absence_only_ends_it() -> None:
    often = sent("lookup", ago=1, times=3)
    assert move(often, max_sends=3) == planner.LookUp(call=often, absence_counts=True, may_send=False)
    once = sent("lookup", ago=1)
    assert move(once, stop=True) == planner.LookUp(call=once, absence_counts=True, may_send=False)


def test_the_newest_horizon_of_all_sends_counts() -> None:
    first = Attempt(number=1, fence=1, deadline="", horizon=(NOW - timedelta(hours=1)).isoformat())
    second = Attempt(number=2, fence=2, deadline="", horizon=(NOW + timedelta(seconds=5)).isoformat())
    open_call = call(0, "intent", attempts=(second, first))
    found = planner.settle(situation(looked=frozenset({(5, 0)})), open_call)
    assert found == planner.Later(at=NOW + timedelta(seconds=5), reason="horizon")


def test_an_unknown_outcome_is_settled_before_other_work_and_holds_up_none_of_it() -> None:
    approved = call(1, "approved")
    assert isinstance(move(sent("unprotected", ago=0), approved), planner.Doubt)
    looked = frozenset({(5, 0)})
    assert move(sent("lookup", ago=-9), approved, looked=looked) == planner.Act(call=approved)
    assert move(call(0, "in_doubt"), approved) == planner.Act(call=approved)
    resting = move(sent("lookup", ago=-9), call(1, "held", review=1), looked=looked)
    assert resting == planner.Later(at=NOW + timedelta(seconds=9), reason="horizon")
