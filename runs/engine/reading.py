"""Reads of one reply, side by side: each result is stored when it arrives, so that a crash costs only the others."""

from __future__ import annotations

import datetime
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import structlog
from django.conf import settings

from runs import exact, points, redaction, state
from runs.engine import carrying, outside, proposing, retrying, secrets, tracing
from runs.engine import frontier as frontiers
from runs.engine.context import Context
from runs.engine.heartbeat import Heartbeat
from runs.tools import registry
from runs.tools.contract import BadArguments, DidNotHappen, Receipt, Tool
from runs.transitions import clock_time, inbox, steps

log = structlog.get_logger(__name__)

AT_ONCE = 8
TRIES = 3
BACKOFF = 2.0


@dataclass(frozen=True, kw_only=True)
class Asked:
    """One read with its settled arguments, ready to run."""

    call: state.CallState
    tool: Tool
    args: Any
    timeout: float
    ctx: Context
    retry: retrying.Retry | None


def read(
    front: frontiers.Frontier, calls: tuple[state.CallState, ...], beat: Heartbeat
) -> frontiers.Frontier | None:
    """Run the reads and store each result when it arrives; a failed one is tried again with back-off, three times.

    Returns the frontier after them, or None if it must be read again.
    Once a stop, a pause or anything else is in the inbox, those under way are awaited to their deadline and stored,
    and no other is started. Refuses LostAuthority and outside.Dropped.
    """
    claim = front.claim
    following: frontiers.Frontier | None = front
    waiting = deque(calls)
    looks: outside.Looks[Asked, tuple[str, Any]] = outside.Looks(beat)
    started = 0
    while waiting or looks:
        while waiting and len(looks) < AT_ONCE:
            if started >= AT_ONCE and inbox.number(claim.run_id) != front.situation.inbox:
                waiting.clear()
                following = None
                break
            asked = _asked(claim, front, waiting.popleft())
            if asked is None:
                following = None
            else:
                run = partial(_filled, asked.tool.run, asked, front.agent.name)
                points.reach("read.before_run")
                looks.start(
                    asked, partial(_exactly, partial(_traced, front, asked, run)), timeout=asked.timeout
                )
                started += 1
        if looks:
            following = _store(claim, following, looks, last=not waiting and len(looks) == 1)
    return following


def _asked(claim: steps.Claim, front: frontiers.Frontier, call: state.CallState) -> Asked | None:
    """Return the read with its arguments, or None: then it was stored as failed."""
    try:
        tool = registry.get(call.tool)
        args = tool.parse(proposing.arguments_of_call(front, call.id))
    except (registry.UnknownTool, BadArguments) as error:
        steps.read_failed(
            claim, call.id, tool=call.tool, step=call.step, reason=str(error), final=True, retry_at=None
        )
        return None
    timeout = (
        tool.timeout.total_seconds() if tool.timeout is not None else float(settings.CKPTSITE["READ_TIMEOUT"])
    )
    ctx = Context(run_id=front.run.pk, timeout=timeout, agent=front.agent.name, tool=tool.name)
    retry = retrying.of(front, call.step)
    return Asked(call=call, tool=tool, args=args, timeout=timeout, ctx=ctx, retry=retry)


def _filled(run: Callable[[Any, Any], Receipt], asked: Asked, agent: str) -> Receipt:
    """Run the read with its secrets filled in, in the thread that looks."""
    return run(secrets.filled(asked.tool, asked.args, agent=agent), asked.ctx)


def _traced(front: frontiers.Frontier, asked: Asked, run: Callable[[], Receipt]) -> Receipt:
    with tracing.tool(front, asked.call.id, asked.tool):
        return run()


def _exactly(run: Callable[[], Receipt]) -> tuple[str, Any]:
    """Return summary and exact value of what the read returns, beside the engine, in a thread of its own."""
    receipt = run()
    value = exact.stored(exact.canonical(receipt.value, limit=None))
    return redaction.clean(receipt.summary), redaction.clean(value)


def _store(
    claim: steps.Claim,
    front: frontiers.Frontier | None,
    looks: outside.Looks[Asked, tuple[str, Any]],
    *,
    last: bool,
) -> frontiers.Frontier | None:
    """Store the next result that arrives, the `last` one when something goes with it.

    Returns the frontier after it, or None if it must be read again.
    """
    look = looks.next()
    points.reach("read.after_run")
    assert looks.name is not None
    call = looks.name.call
    try:
        summary, value = look.result()
    except DidNotHappen as error:
        _failed(claim, looks.name, redaction.clean(error.reason), tries=1)
        return None
    except Exception as error:  # whatever a tool raises is a failed read, not a failed worker
        reason = redaction.of_error(error)
        log.warning("read_failed", tool=call.tool, error=type(error).__name__)
        _failed(claim, looks.name, reason, tries=TRIES)
        return None
    looks.name.ctx.keep()
    if front is not None:
        return carrying.looked(
            front, call.id, tool=call.tool, step=call.step, summary=summary, value=value, last=last
        )
    steps.read(claim, call.id, tool=call.tool, step=call.step, summary=summary, value=value)
    return None


def _failed(claim: steps.Claim, asked: Asked, reason: str, *, tries: int) -> None:
    """Store that a read failed, to be tried again as often as its step says, or `tries` times in all."""
    call, retry = asked.call, asked.retry
    final = call.failures + 1 >= (tries if retry is None else retry.times + 1)
    after = BACKOFF * 2**call.failures if retry is None else retry.wait
    again = clock_time.now() + datetime.timedelta(seconds=after)
    steps.read_failed(
        claim,
        call.id,
        tool=call.tool,
        step=call.step,
        reason=reason,
        final=final,
        retry_at=None if final else again.isoformat(),
    )
