"""Carrying out effects and looking them up. Tools are called through `outside`, which holds nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings

from runs import exact, planner, points, state
from runs.engine import frontier as frontiers
from runs.engine import keeping, origin, outside, preparing, verdicts
from runs.engine.context import Context
from runs.engine.heartbeat import Heartbeat
from runs.tools.contract import DidNotHappen, Receipt, Tool
from runs.transitions import evidence, steps
from runs.transitions.refusals import Changed, LostAuthority

log = structlog.get_logger(__name__)

BACKOFF = 2.0


def act(claim: steps.Claim, front: frontiers.Frontier, move: planner.Act, beat: Heartbeat) -> None:
    """Pass the gate and carry out one effect. Refuses Changed, LostAuthority and ContractChanged."""
    action = front.actions[move.call.id]
    origin.require_memory()
    tool = preparing.tool_of(action)
    args = preparing.arguments_of(action, tool)
    policy = verdicts.in_force()
    if policy.stops(agent=front.agent.name, tool=action.tool):
        raise Changed(f"{action.tool} or this agent is paused")
    verdict = verdicts.ask(
        policy, agent=front.agent.name, tool=type(tool), never_allow=action.duplicate_of_id is not None
    )
    timeout = _timeout(tool, "EFFECT_TIMEOUT")
    precondition = None
    if action.precondition is not None:
        precondition = preparing.precondition_of(front, tool, args, beat)
    began = time.monotonic()
    wish = steps.Wish(
        call=move.call.id,
        digest=action.digest,
        contract=tool.contract(),
        epoch=policy.epoch,
        verdict=verdict.verdict,
        timeout=timeout,
        settle=settle_seconds(tool),
        key_window=tool.key_window.total_seconds(),
        precondition=precondition,
        rule=verdict.rule,
        quorum=int(verdict.terms.get("quorum") or 1),
    )
    try:
        intent = steps.intent(claim, wish, seen=front.situation.inbox)
    except keeping.AWAY as error:
        keeping.never_sent(claim, move.call.id, action_id=action.pk, attempt=action.attempt + 1)
        raise Changed("the answer to the commit of an intent was lost") from error
    if intent is None:
        return
    origin.remember(run=front.run.pk, action=intent.action_id, attempt=intent.attempt, key=intent.key)
    log.info("intent", action_id=intent.action_id, tool=action.tool, attempt=intent.attempt)
    # The deadline counts from before the commit: never later than the one that was committed. A tool that outlives
    # it takes this process with it before the horizon, after which others may conclude that nothing happened.
    left = timeout - (time.monotonic() - began)
    grace = min(settings.CKPTSITE["MARGIN"], settle_seconds(tool) / 2)
    beat.allow(left, grace=grace)
    if left <= 0 or beat.lost:
        reason = "the time for sending had passed before it was sent"
        _store_absent(claim, move.call.id, intent, beat, reason=reason, again=True)
        return
    ctx = Context(run_id=front.run.pk, timeout=left, key=intent.key, attempt=intent.attempt)
    within = left + grace * 1.5
    _send(claim, move.call.id, intent, beat, lambda: outside.act(lambda: tool.run(args, ctx), within=within))


def _send(
    claim: steps.Claim,
    call: state.CallId,
    intent: steps.Intent,
    beat: Heartbeat,
    effect: Callable[[], Receipt],
) -> None:
    """Carry out the effect and store what came of it; a worker that lost its run leaves evidence instead."""
    try:
        points.reach("effect.before_send")
        receipt = effect()
        points.reach("effect.after_send")
        stored = stored_receipt(receipt)
    except DidNotHappen as error:
        again = error.retryable and intent.attempt < int(settings.CKPTSITE["MAX_SENDS"])
        _store_absent(claim, call, intent, beat, reason=error.reason, again=again, key_used=error.key_used)
        return
    except Exception as error:  # after the intent everything that isn't proven is unknown
        reason = f"{type(error).__name__}: {error}"
        log.warning("outcome_unknown", action_id=intent.action_id, error=reason)
        steps.unknown(claim, call, attempt=intent.attempt, reason=reason)
        return
    keeping.keep(
        lambda: steps.happened(claim, call, attempt=intent.attempt, receipt=stored),
        testify=lambda: evidence.append(
            intent.action_id, attempt=intent.attempt, outcome="happened", source="worker", content=stored
        ),
        beat=beat,
    )


def _store_absent(
    claim: steps.Claim,
    call: state.CallId,
    intent: steps.Intent,
    beat: Heartbeat,
    *,
    reason: str,
    again: bool,
    key_used: bool = False,
) -> None:
    keeping.keep(
        lambda: steps.did_not_happen(
            claim,
            call,
            attempt=intent.attempt,
            reason=reason,
            again=again,
            wake_after=BACKOFF * 2**intent.attempt,
            key_used=key_used,
        ),
        testify=lambda: evidence.append(
            intent.action_id,
            attempt=intent.attempt,
            outcome="did_not_happen",
            source="worker",
            content={"reason": reason, "summary": reason},
        ),
        beat=beat,
    )


def look_up(claim: steps.Claim, front: frontiers.Frontier, move: planner.LookUp, beat: Heartbeat) -> None:
    """Ask the world about an intent without a receipt. Absence counts only after the horizon."""
    action = front.actions[move.call.id]
    assert action.occurrence is not None
    tool = preparing.tool_of(action)
    args = preparing.arguments_of(action, tool)
    timeout = float(settings.CKPTSITE["READ_TIMEOUT"])
    keys = action.occurrence.all_keys()
    ctx = Context(run_id=front.run.pk, timeout=timeout)
    try:
        points.reach("lookup.before_run")
        receipt = outside.look(lambda: tool.lookup(args, keys, ctx), beat=beat, timeout=timeout)
        points.reach("lookup.after_run")
    except (LostAuthority, outside.Dropped):
        raise
    except Exception as error:  # a look-up that fails says nothing
        log.warning(
            "lookup_failed", run=front.run.pk, action_id=action.pk, error=f"{type(error).__name__}: {error}"
        )
        if move.absence_counts:
            why = f"Looking it up failed: {type(error).__name__}: {error}"
            steps.doubt(claim, move.call.id, why=why, seen=front.situation.inbox)
        return
    if receipt is not None:
        steps.happened(
            claim, move.call.id, attempt=action.attempt, receipt=stored_receipt(receipt), source="lookup"
        )
    elif move.absence_counts:
        steps.did_not_happen(
            claim,
            move.call.id,
            attempt=0,
            reason="it was looked up after its horizon and is not there",
            again=move.may_send,
            source="lookup",
        )


def stored_receipt(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as the exact JSON that is stored."""
    text = exact.canonical({"summary": receipt.summary, "value": receipt.value}, limit=None)
    found: dict[str, Any] = exact.stored(text)
    return found


def settle_seconds(tool: Tool) -> float:
    """Return how late after its deadline a request of this tool may still take effect."""
    return tool.settle.total_seconds() if tool.settle is not None else float(settings.CKPTSITE["SETTLE"])


def _timeout(tool: Tool, setting: str) -> float:
    return tool.timeout.total_seconds() if tool.timeout is not None else float(settings.CKPTSITE[setting])
