"""Asking the provider, and checking each call of its reply before it is stored."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import structlog
from django.conf import settings
from django.db import DatabaseError

from runs import exact, models, plan_changes, points, redaction, state
from runs.engine import (
    asking,
    carrying,
    gates,
    handing,
    history,
    modelling,
    outside,
    paying,
    planning,
    preparing,
    prompting,
    refused,
    results,
    tracing,
    verdicts,
)
from runs.engine import frontier as frontiers
from runs.engine.heartbeat import Heartbeat
from runs.models import paths
from runs.providers import contract
from runs.providers import registry as providers
from runs.tools import registry
from runs.tools.contract import BadArguments
from runs.transitions import files, secret_names, steps
from runs.transitions.considered import Considered
from runs.transitions.refusals import Changed, LostAuthority

log = structlog.get_logger(__name__)

PATIENCE = 5.0
"""So long a worker that is told to stop still waits for a reply, since it will be paid for."""

MAX_CALLS = 50
"""More calls than this in one reply are refused, so that one reply can't flood the inbox."""


def call_model(front: frontiers.Frontier, beat: Heartbeat) -> frontiers.Frontier | None:
    """Ask for the next reply and store it; return the frontier after it, or None if it must be read again.

    Refuses ProviderError, paying.TooLittle, refused.Stuck and LostAuthority.
    """
    claim = front.claim
    provider = providers.get(front.agent.provider)
    request = request_of(front)
    paying.check(front, provider, request)
    timeout = float(settings.CKPTSITE["MODEL_TIMEOUT"])
    complete = partial(provider.complete, request, timeout=timeout)
    try:
        points.reach("model.before_call")
        if getattr(provider, "local", False):
            reply = outside.here(complete)
        else:
            with tracing.model(front) as span:
                reply = outside.look(complete, beat=beat, timeout=timeout, patience=PATIENCE)
                tracing.replied(span, reply)
        points.reach("model.after_call")
    except outside.Dropped:
        paying.book_given_up(claim, provider, request)
        raise
    except contract.ProviderError as error:
        if error.maybe_paid:
            paying.book_given_up(claim, provider, request)
        raise
    except outside.OutOfTime as error:
        paying.book_given_up(claim, provider, request)
        raise contract.ProviderError(
            f"The provider did not answer within {timeout:.0f} seconds.", retryable=True
        ) from error
    if request.prompt is not None:
        carrying.settle(front)
        if request.prompt.upto is not None:
            modelling.store_summary(front, request.prompt, reply)
        else:
            _store(front, modelling.fewer(reply, MAX_CALLS), beat)
        return None
    unusable = modelling.unusable(reply, MAX_CALLS)
    if unusable:
        carrying.settle(front)
        paying.book_unusable(claim, reply.usage)
        raise contract.ProviderError(unusable)
    work = carrying.begin(front)
    part = carrying.Part(
        name="reply",
        before=work.mark(),
        lost=lambda: paying.tell_late(claim, reply.usage),
        otherwise=lambda: _store(front, reply, beat),
    )
    if steps.plain.replied(work, _record(front, reply, beat, known=nothing_known)):
        return carrying.wait(front, work, part)
    carrying.settle(front)
    _store(front, reply, beat)
    return None


def _store(front: frontiers.Frontier, reply: contract.Reply, beat: Heartbeat) -> None:
    """Store a reply the long way, with what the lineage knows of each of its calls."""
    record = _record(front, reply, beat, known=asked)
    try:
        steps.reply(front.claim, record)
    except LostAuthority:
        paying.tell_late(front.claim, reply.usage)
        raise
    refused.check(front.run, record.calls)


def _record(
    front: frontiers.Frontier, reply: contract.Reply, beat: Heartbeat, *, known: Known
) -> steps.Record:
    checked: list[steps.Proposed] = []
    for call in reply.calls:
        named = replace(call, step=call.step if call.step and plan_changes.is_id(call.step) else None)
        try:
            checked.append(check(front, front.policy, named, checked, beat, known=known))
        except (Changed, LostAuthority, outside.Dropped, DatabaseError):
            raise
        except Exception as error:  # of a tool's own code: the reply is paid for, and kept all the same
            if not modelling.prompted(front):
                raise
            log.exception("check_failed", tool=call.tool)
            sentence = f"{call.tool}: it could not be looked at: {redaction.of_error(error)}"
            checked.append(_refused(named, None, sentence))
    return steps.Record(
        text=reply.text,
        calls=tuple(checked),
        tokens_in=reply.usage.tokens_in,
        tokens_out=reply.usage.tokens_out,
        cost_micro=reply.usage.cost_micro,
        policy_version=front.policy.version,
        extra=modelling.kept(reply),
        repair=modelling.repair(front, reply, checked),
    )


def is_pure(front: frontiers.Frontier) -> bool:
    """Return whether the next reply needs nothing but what the worker holds: no model, and no stored result."""
    provider = providers.get(front.agent.provider)
    local = getattr(provider, "local", False)
    return local and not provider.references(front.agent, front.situation.state.plan)


def request_of(front: frontiers.Frontier) -> contract.Request:
    """Return all that the next reply may depend on. Refuses contract.ProviderError."""
    now = front.situation.state
    provider = providers.get(front.agent.provider)
    names = provider.references(front.agent, now.plan)
    return contract.Request(
        agent=front.agent,
        input=now.input,
        planned=now.plan_version > 0,
        plan=now.plan,
        results=results.of(front.run, names),
        replies=now.counters.steps,
        prompt=prompting.prompt(front) if provider.prompted else None,
        secret=partial(prompting.secret_of, front),
    )


def arguments_of_call(front: frontiers.Frontier, call: state.CallId) -> Any:
    """Return the stored arguments of one call of a reply, or of a call that was opened again at the cut."""
    return front.arguments[call]


Known = Callable[[models.Run, str], bool]
"""Says whether the lineage may hold something of this identity."""


def asked(run: models.Run, identity_digest: str) -> bool:
    """Return what the database knows."""
    return bool(run.path) or paths.proposed_before(run, identity_digest)


def nothing_known(_run: models.Run, _identity_digest: str) -> bool:
    """Return False: the commit of a plain reply refuses when that isn't true."""
    return False


def check(
    front: frontiers.Frontier,
    policy: verdicts.InForce,
    call: contract.Call,
    earlier: list[steps.Proposed],
    beat: Heartbeat,
    *,
    known: Known = asked,
) -> steps.Proposed:
    """Return the call with its arguments settled and its verdict, or with the sentence that refuses it."""
    try:
        arguments = exact.stored(exact.canonical(call.arguments))
    except exact.NotExact as error:
        return _refused(call, None, f"{call.tool}: {error}")
    if call.malformed:
        return _refused(call, arguments, f"{call.tool}: {call.malformed}")
    if call.tool == contract.PLAN:
        try:
            change = planning.change(front, arguments)
        except ValueError as error:
            return _refused(call, arguments, f"plan: {error}")
        return replace(_control(call, arguments), plan=change)
    if call.tool == contract.FINISH:
        return _finish(front, call, arguments, earlier)
    if call.tool == contract.ASK:
        return asking.proposed(call, arguments)
    if not modelling.has_tool(front, call.tool):
        return _refused(call, arguments, f"This agent has no tool named {call.tool!r}.")
    try:
        tool = registry.get(call.tool)
        text = preparing.settled(tool, arguments, keep=files.keeper(front.run.input))
    except (registry.UnknownTool, BadArguments) as error:
        return _refused(call, arguments, str(error))
    if tool.risk() and modelling.unplanned(front, earlier):
        return _refused(call, arguments, f"{call.tool}: {modelling.PLAN_FIRST}")
    arguments = exact.stored(text)
    args = tool.parse(arguments)
    if tool.hands_to and (unfit := handing.refusal(front.run, tool.hands_to)):
        return _refused(call, arguments, f"{call.tool}: {unfit}")
    if unfit := secret_names.refusal(arguments, agent=front.agent.name, tool=tool.name):
        return _refused(call, arguments, unfit)
    identity = exact.kept(exact.canonical(tool.identity_of(args)))
    digest = exact.digest_of(identity)
    risky = tool.risk() > 0
    before = risky and known(front.run, digest)
    past = history.of(front.run, tool, identity=digest) if before else history.Past()
    duplicate = past.duplicate_of(call.tool, digest, earlier) if risky else None
    asked = (past.asks or duplicate is not None) or (
        risky and bool(gates.why(front, tool=call.tool, step=call.step))
    )
    about = Considered(
        front.run,
        tool=call.tool,
        arguments=lambda: arguments,
        identity=digest,
        duplicate=duplicate is not None,
        deviation=lambda: bool(gates.deviation(front, tool=call.tool, step=call.step)),
        preview=lambda: preparing.preview_of(front, tool, args, beat),
    )
    verdict = verdicts.ask(policy, about, agent=front.agent.name, tool=type(tool), never_allow=asked)
    text_digest = exact.digest(text)
    if before:
        verdict = refused.verdict(front.run, verdict, tool=call.tool, digest=text_digest)
    return steps.Proposed(
        tool=call.tool,
        arguments=arguments,
        step=call.step,
        label=call.label,
        effect=str(tool.effect),
        tier=tool.risk(),
        digest=text_digest,
        contract=tool.contract(),
        protection=str(tool.protection),
        declaration=tool.declaration(),
        identity=identity,
        identity_digest=digest,
        verdict=verdict,
        duplicate_of=duplicate,
        retry_of=past.retried(call.step or ""),
    )


def _control(call: contract.Call, arguments: Any) -> steps.Proposed:
    return steps.Proposed(
        tool=call.tool, arguments=arguments, step=call.step, label=call.label, effect="control"
    )


def _refused(call: contract.Call, arguments: Any, sentence: str) -> steps.Proposed:
    return replace(_control(call, arguments), refusal=sentence)


def _finish(
    front: frontiers.Frontier, call: contract.Call, arguments: Any, earlier: list[steps.Proposed]
) -> steps.Proposed:
    if not isinstance(arguments, Mapping) or not isinstance(arguments.get("summary"), str):
        return _refused(call, arguments, "finish: the arguments need a 'summary' text.")
    if any(sibling.tool == contract.FINISH and not sibling.refusal for sibling in earlier):
        return _refused(call, arguments, "finish: a reply may finish only once.")
    if unfit := modelling.unfit(front, arguments.get("result")):
        return _refused(call, arguments, f"finish: the result doesn't fit. {unfit}")
    return _control(call, arguments)
