"""Moving one run: claim, beat, one move after the other until it rests, ends or the slice is over."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

import structlog
from django.conf import settings
from django.db import connection

from ckptsite import logs
from runs import lifecycle, models, planner, redaction, state
from runs.engine import (
    acting,
    asking,
    carrying,
    frontier,
    heartbeat,
    origin,
    outside,
    paying,
    preparing,
    proposing,
    reading,
    refused,
    reopening,
    simulating,
    tracing,
    undoing,
)
from runs.providers import contract
from runs.transitions import steps
from runs.transitions.refusals import Changed, LostAuthority
from runs.transitions.steps import crowding

log = structlog.get_logger(__name__)

MAX_CHANGED = 20
"""So many refusals in a row mean that something is wrong with this code, not that the inbox is busy."""

BACKOFF, LONGEST_BACKOFF = 4.0, 3600.0
"""Seconds: doubled with each time that a provider had trouble, and the most that is waited, whatever it asks for."""

never = heartbeat.never

RESTS = (planner.Later, planner.Wait, planner.Pause, planner.Cancel, planner.Fail, planner.Finish)


def advance(run_id: int, *, stopping: Callable[[], bool] = never) -> bool:
    """Return whether this process claimed the run and moved it; False means that there was nothing to do.

    `stopping` is asked between two moves: a worker that is told to stop hands the run back at once.
    """
    origin.ensure()
    claim = steps.claim(run_id)
    if claim is None:
        return False
    with logs.about(run=run_id, fence=claim.fence), tracing.slice_of(claim):
        try:
            with heartbeat.beating(claim, stopping=stopping) as beat:
                _slice(claim, beat)
        except LostAuthority as error:
            log.warning("authority_lost", why=error.message)
    return True


def _slice(claim: steps.Claim, beat: heartbeat.Heartbeat) -> None:
    end = time.monotonic() + settings.CKPTSITE["SLICE"]
    looked: frozenset[state.CallId] = frozenset()
    changed = 0
    unread, begun, lost = claim.unread, claim.begun, claim.took_over
    front: frontier.Frontier | None = None
    while True:
        over = time.monotonic() > end
        try:
            if front is not None and (over or beat.lost or beat.stopping()):
                carrying.settle(front)
            if beat.lost:
                return
            if over or beat.stopping():
                steps.later(claim, reason="shutdown" if beat.stopping() else "slice")
                return
            if not begun:
                reopening.reopen(claim, beat)
                begun = True
            if lost:  # a worker died here; what its call may have cost is booked before anything else
                paying.book_lost_call(claim, proposing.request_of)
                lost = False
            if unread:  # what woke the run is read first; looking at the run before that would be in vain
                steps.fold_in(claim, undoing.check)
                unread = False
            origin.ensure()  # the connection may be a new one since the last move
            front = front or frontier.load(claim, looked=looked)
            move = _next(front)
            if isinstance(move, planner.LookUp):
                looked |= {move.call.id}
            front, rested = _perform(front, move, beat)
        except Changed as error:
            changed, front = changed + 1, None
            log.info("changed", why=error.message)
            if changed > MAX_CHANGED:
                steps.later(claim, reason="busy", after=1.0, trouble=error.message)
                return
            continue
        except outside.Dropped:
            front = None
            continue
        except refused.Stuck as error:
            _give_up(claim, error)
            return
        except (LostAuthority, contract.ProviderError):
            raise
        except Exception as error:  # a fault of ours or the database's: hand back, and count it
            log.exception("move_failed")
            _hand_back(claim, error)
            return
        if front is None or front.pending is None:  # what only waits for its commit may still be refused
            changed = 0
        if rested:
            return


def _next(front: frontier.Frontier) -> planner.Move:
    """Return the next move; where questions would be opened, with regard to how many are open."""
    move = planner.next_move(front.situation)
    opens = isinstance(move, planner.Prepare | planner.AskHuman)
    if not opens or front.run.mode == models.Run.Mode.DRY_RUN:
        return move
    return planner.next_move(replace(front.situation, room=crowding.room(front.run)))


def _perform(
    front: frontier.Frontier, move: planner.Move, beat: heartbeat.Heartbeat
) -> tuple[frontier.Frontier | None, bool]:
    """Make the move; return the frontier after it, None if it must be read again, and whether the run is at rest."""
    if front.pending is None:
        return _make(front, move, beat)
    asks_here = (
        isinstance(move, planner.CallModel) and front.pending.takes_reply() and proposing.is_pure(front)
    )
    if not (isinstance(move, planner.Act) or asks_here):  # nothing that may go with what is pending
        settled = carrying.settle(front)
        return (None, False) if settled is None else _make(settled, move, beat)
    try:
        return _make(front, move, beat)
    except Exception:
        carrying.settle(front)
        raise


def _make(
    front: frontier.Frontier, move: planner.Move, beat: heartbeat.Heartbeat
) -> tuple[frontier.Frontier | None, bool]:
    beat.allow(60.0)
    claim, seen = front.claim, front.situation.inbox
    following: frontier.Frontier | None = None
    try:
        match move:
            case planner.FoldIn():
                steps.fold_in(claim, undoing.check)
            case planner.CallModel() | planner.Refill():
                return _call_model(front, move, beat)
            case planner.AskPlan():
                steps.ask_plan(claim, seen=seen)
            case planner.AskHuman(call=call):
                asking.ask(front, call)
            case planner.AskPins():
                steps.ask_pins(claim, seen=seen)
            case planner.SettlePins():
                steps.settle_pins(claim, seen=seen)
            case planner.Prepare(calls=calls):
                _prepare(claim, front, calls, beat)
            case planner.Read(calls=calls):
                following = reading.read(front, calls, beat)
            case planner.Act():
                following = acting.act(front, move, beat)
            case planner.LookUp():
                acting.look_up(claim, front, move, beat)
            case planner.Doubt(call=call, why=why):
                steps.doubt(claim, call.id, why=why, seen=seen)
            case planner.Later(at=at, reason=reason):
                steps.later(claim, reason=reason, at=at, seen=seen)
            case planner.Wait(reason=reason):
                steps.wait(claim, reason=reason, seen=seen)
            case planner.Pause():
                steps.pause(claim, seen=seen)
            case planner.Cancel():
                steps.cancel(claim, open_calls=_open(front), seen=seen)
            case planner.TakeBack(occurrence=occurrence, why=why):
                undoing.take_back(claim, front.run, occurrence, why=why, seen=seen)
            case planner.Fail(cause=cause, detail=detail, taken_back=back):
                closed = _open(front)
                steps.fail(claim, cause=cause, detail=detail, open_calls=closed, seen=seen, taken_back=back)
            case planner.Finish(call=call):
                arguments = proposing.arguments_of_call(front, call.id)
                steps.finish(
                    claim, call.id, summary=arguments["summary"], result=arguments.get("result"), seen=seen
                )
    except (preparing.ContractChanged, origin.Forgetful) as error:
        carrying.settle(front)
        return None, _contract_changed(claim, front, str(error))
    return following, isinstance(move, RESTS)


def _prepare(
    claim: steps.Claim,
    front: frontier.Frontier,
    calls: tuple[state.CallState, ...],
    beat: heartbeat.Heartbeat,
) -> None:
    """Put these actions before a person, or say what they would do: a dry run does none."""
    if front.run.mode == models.Run.Mode.DRY_RUN:
        simulating.simulate(claim, front, calls, beat)
    else:
        preparing.prepare(claim, front, calls, beat)


def _contract_changed(claim: steps.Claim, front: frontier.Frontier, why: str) -> bool:
    """A tool is gone or promises something else: ask about what may have happened, then end with the cause."""
    calls, seen = front.situation.state.open_calls(), front.situation.inbox
    sent = next((call for call in calls if call.status == lifecycle.Action.INTENT), None)
    if sent is not None:
        steps.doubt(claim, sent.id, why=why, seen=seen)
        return False
    old = preparing.outdated(front)
    if old and front.run.pins_id is not None:  # the run has left that contract behind
        steps.overtake(claim, [(call.id, call.step) for call in old], seen=seen)
        return False
    if any(call.unsettled for call in calls):
        steps.wait(claim, reason="review", seen=seen)
    else:
        steps.fail(claim, cause=why, detail="", open_calls=_open(front), seen=seen)
    return True


def _call_model(
    front: frontier.Frontier, move: planner.CallModel | planner.Refill, beat: heartbeat.Heartbeat
) -> tuple[frontier.Frontier | None, bool]:
    claim, seen = front.claim, front.situation.inbox
    if isinstance(move, planner.Refill):
        return None, not steps.refill(claim, need=move.need, seen=seen)
    try:
        return proposing.call_model(front, beat), False
    except (paying.TooLittle, contract.ProviderError) as error:
        carrying.settle(front)
        return None, _not_asked(front, error)


def _not_asked(front: frontier.Frontier, error: paying.TooLittle | contract.ProviderError) -> bool:
    """Do what follows from a reply that can't be had; return whether the run is at rest."""
    claim, seen = front.claim, front.situation.inbox
    if isinstance(error, paying.TooLittle):
        return not steps.refill(claim, need=error.need, seen=seen)
    if error.retryable and front.situation.attempts < front.situation.poison:
        after = max(BACKOFF * 2**front.situation.attempts, min(error.retry_after or 0.0, LONGEST_BACKOFF))
        steps.later(claim, reason="backoff", after=after, trouble=str(error))
    else:
        steps.fail(claim, cause=str(error), detail="", open_calls=_open(front), seen=seen)
    return True


def _give_up(claim: steps.Claim, error: refused.Stuck) -> None:
    front = frontier.load(claim)
    steps.fail(claim, cause=str(error), detail="", open_calls=_open(front), seen=front.situation.inbox)


def _open(front: frontier.Frontier) -> tuple[tuple[state.CallId, str | None, bool], ...]:
    return tuple((call.id, call.step, call.is_effect) for call in front.situation.state.open_calls())


def _hand_back(claim: steps.Claim, error: Exception) -> None:
    """Queue the run again with the trouble noted. If even that fails, the lease runs out and the clock finds it."""
    if connection.in_atomic_block:  # only when a caller wrapped the engine, which nobody may
        raise error
    try:
        steps.later(claim, reason="error", after=2.0, trouble=redaction.of_error(error))
    except Exception as second:  # the database is gone, most likely
        log.warning("hand_back_failed", error=f"{type(second).__name__}: {second}")
        connection.close()
