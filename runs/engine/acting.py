"""Carrying out effects and looking them up. Tools are called through `outside`, which holds nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog
from django.conf import settings

from runs import models, planner, points, redaction, state
from runs.engine import (
    carrying,
    handing,
    keeping,
    origin,
    outside,
    preparing,
    retrying,
    secrets,
    tracing,
    verdicts,
)
from runs.engine import frontier as frontiers
from runs.engine.context import Context
from runs.engine.heartbeat import Heartbeat
from runs.tools.contract import DidNotHappen, Receipt, Tool
from runs.tools.handing import HandOff
from runs.transitions import evidence, steps
from runs.transitions.refusals import Changed, LostAuthority

log = structlog.get_logger(__name__)

BACKOFF = 2.0


@dataclass(frozen=True, kw_only=True)
class Effect:
    """An effect that is about to be carried out: its tool with parsed arguments, and how long it may take."""

    call: state.CallId
    action: models.Action
    tool: Tool
    args: Any
    timeout: float


@dataclass(frozen=True, kw_only=True)
class Right:
    """A committed intent, and when its deadline began to count: never later than the one that was committed."""

    intent: steps.Intent
    began: float
    following: frontiers.Frontier | None


def act(front: frontiers.Frontier, move: planner.Act, beat: Heartbeat) -> frontiers.Frontier | None:
    """Pass the gate and carry out one effect; return the frontier after it, or None if it must be read again.

    Refuses Changed, LostAuthority, ContractChanged and origin.Forgetful.
    """
    claim, effect = front.claim, _effect(front, move)
    right = _right(front, effect, beat)
    if right is None:
        return None
    call, tool, intent = effect.call, effect.tool, right.intent
    if tool.hands_to:
        return None  # the intent has made the child; its end is the receipt
    origin.remember(run=front.run.pk, action=intent.action_id, attempt=intent.attempt, key=intent.key)
    log.info("intent", action=intent.action_id, tool=tool.name, attempt=intent.attempt)
    # A tool that outlives its deadline takes this process with it before the horizon, after which others may conclude
    # that nothing happened.
    left = effect.timeout - (time.monotonic() - right.began)
    grace = min(settings.CKPTSITE["MARGIN"], keeping.settle_seconds(tool) / 2)
    beat.allow(left, grace=grace)
    if left <= 0 or beat.lost:
        reason = "the time for sending had passed before it was sent"
        _store_absent(claim, call, intent, beat, reason=reason, again=True)
        return None
    agent = front.agent.name
    ctx = Context(
        run_id=front.run.pk, timeout=left, agent=agent, tool=tool.name, key=intent.key, attempt=intent.attempt
    )

    within = left + grace * 1.5

    receipt = _send(
        claim,
        call,
        intent,
        beat,
        lambda: outside.act(
            lambda: tool.run(secrets.filled(tool, effect.args, agent=agent), ctx), within=within
        ),
        retry=retrying.of(front, move.call.step),
        span=tracing.tool(front, call, tool, attempt=intent.attempt),
    )
    if receipt is None:
        return None
    keeping.keep_files(ctx)
    return carrying.received(right.following, claim, call, intent, receipt, beat)


def _effect(front: frontiers.Frontier, move: planner.Act) -> Effect:
    call = move.call.id
    action = front.actions[call]
    origin.require_memory()
    tool = preparing.tool_of(action)
    if front.policy.stops(agent=front.agent.name, tool=action.tool):
        raise Changed(f"{action.tool} or this agent is paused")
    args = preparing.arguments_of(action, tool, front.arguments.get(call))
    return Effect(call=call, action=action, tool=tool, args=args, timeout=_timeout(tool, "EFFECT_TIMEOUT"))


def _right(front: frontiers.Frontier, effect: Effect, beat: Heartbeat) -> Right | None:
    """Commit the intent, the plain way or the long one; None if the action moved instead, or must be looked at anew."""
    began = time.monotonic()
    wish = _wish(front, effect, beat)
    # What was released before a database was restored may have been sent by then: that is the long way's business.
    plain = front.policy.restored_at is None and wish.hands_to is None
    started = carrying.start(front, wish) if plain else None
    if started is not None:
        return Right(intent=started[1], began=began, following=started[0])
    if front.pending is not None:
        carrying.settle(front)
        return None
    if effect.action.precondition is not None:
        wish = replace(wish, precondition=preparing.precondition_of(front, effect.tool, effect.args, beat))
        began = time.monotonic()
    try:
        given = steps.intent(front.claim, wish, seen=front.situation.inbox)
    except keeping.AWAY as error:
        if wish.hands_to is None:  # a child that was made is there all the same
            keeping.never_sent(front.claim, effect.call, attempt=effect.action.attempt + 1)
        raise Changed("the answer to the commit of an intent was lost") from error
    return None if given is None else Right(intent=given, began=began, following=None)


def _wish(front: frontiers.Frontier, effect: Effect, beat: Heartbeat) -> steps.Wish:
    action, tool = effect.action, effect.tool

    def shown() -> Mapping[str, Any] | None:
        return action.preview or preparing.preview_of(front, tool, effect.args, beat)

    verdict = verdicts.ask(
        front.policy,
        preparing.considered(front, action, effect.args, shown),
        agent=front.agent.name,
        tool=type(tool),
        never_allow=action.duplicate_of_id is not None,
    )
    return steps.Wish(
        call=(action.reply_position, action.call_index),
        digest=action.digest,
        contract=tool.contract(),
        epoch=front.policy.epoch,
        verdict=verdict.verdict,
        timeout=effect.timeout,
        settle=keeping.settle_seconds(tool),
        key_window=tool.key_window.total_seconds(),
        rule=verdict.rule,
        quorum=int(verdict.terms.get("quorum") or 1),
        hands_to=_hands_to(front, action, tool, effect.args),
    )


def _hands_to(
    front: frontiers.Frontier, action: models.Action, tool: Tool, args: Any
) -> steps.HandsTo | None:
    if not isinstance(tool, HandOff):
        return None
    return steps.HandsTo(
        version=tool.its_version,
        input=args.input,
        subject=args.subject,
        earlier=handing.earlier(front.run, action),
    )


def _send(
    claim: steps.Claim,
    call: state.CallId,
    intent: steps.Intent,
    beat: Heartbeat,
    effect: Callable[[], Receipt],
    *,
    retry: retrying.Retry | None,
    span: tracing.Opened,
) -> dict[str, Any] | None:
    """Carry out the effect and return its receipt as it is stored; None when it gave none, which is stored then."""
    try:
        points.reach("effect.before_send")
        with span:
            receipt = effect()
        points.reach("effect.after_send")
        return keeping.stored_receipt(receipt)
    except DidNotHappen as error:
        again = error.retryable and intent.attempt < int(settings.CKPTSITE["MAX_SENDS"])
        if retry is not None:
            again = intent.attempt <= retry.times
        reason = redaction.clean(error.reason)
        wait = None if retry is None else retry.wait
        _store_absent(
            claim, call, intent, beat, reason=reason, again=again, key_used=error.key_used, wait=wait
        )
        return None
    except Exception as error:  # after the intent everything that isn't proven is unknown
        reason = redaction.of_error(error)
        log.warning("outcome_unknown", action=intent.action_id, error=type(error).__name__)
        steps.unknown(claim, call, attempt=intent.attempt, reason=reason)
        return None


def _store_absent(
    claim: steps.Claim,
    call: state.CallId,
    intent: steps.Intent,
    beat: Heartbeat,
    *,
    reason: str,
    again: bool,
    key_used: bool = False,
    wait: float | None = None,
) -> None:
    keeping.keep(
        lambda: steps.did_not_happen(
            claim,
            call,
            attempt=intent.attempt,
            reason=reason,
            again=again,
            wake_after=BACKOFF * 2**intent.attempt if wait is None else wait,
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
    agent = front.agent.name
    ctx = Context(run_id=front.run.pk, timeout=timeout, agent=agent, tool=tool.name)

    try:
        points.reach("lookup.before_run")
        with tracing.tool(front, move.call.id, tool, what="look_up"):
            receipt = outside.look(
                lambda: tool.lookup(secrets.filled(tool, args, agent=agent), keys, ctx),
                beat=beat,
                timeout=timeout,
            )
        points.reach("lookup.after_run")
    except (LostAuthority, outside.Dropped):
        raise
    except Exception as error:  # a look-up that fails says nothing
        said = redaction.of_error(error)
        log.warning("lookup_failed", action=action.pk, error=type(error).__name__)
        if move.absence_counts:
            why = f"Looking it up failed: {said}"
            steps.doubt(claim, move.call.id, why=why, seen=front.situation.inbox)
        return
    if receipt is not None:
        keeping.keep_files(ctx)
        steps.happened(
            claim,
            move.call.id,
            attempt=action.attempt,
            receipt=keeping.stored_receipt(receipt),
            source="lookup",
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


def _timeout(tool: Tool, setting: str) -> float:
    return tool.timeout.total_seconds() if tool.timeout is not None else float(settings.CKPTSITE[setting])
