"""Negative controls: ways to build the engine wrongly. Each must be caught, or the harness proves nothing.

A control is a change of the real code together with the plans in which it does harm, and the kinds of violation that
must be found in them; the same plans find none of these with the code as it is.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any
from unittest import mock

from django.db import connection
from django.db.models import QuerySet

from runs import models, planner, points, state
from runs.engine import advance, preparing
from runs.transitions import decisions, steps
from runs.transitions.steps import settle
from tests.harness import tools
from tests.harness.plan import PROTECTIONS, Death, Effect, People, Plan

CHECKED = "control.checked"
"""The point at which a wrongly built engine has looked, and has not acted yet."""

Patch = Callable[[ExitStack], None]


@dataclass(frozen=True, kw_only=True)
class Control:
    """One way to build it wrongly."""

    breaks: Patch
    plans: tuple[Plan, ...]
    caught_as: tuple[str, ...]


def _plans(
    *deaths: Death,
    protections: tuple[str, ...] = PROTECTIONS,
    faults: tuple[str, ...] = (),
    people: People | None = None,
    **more: Any,
) -> tuple[Plan, ...]:
    """Return one plan for each protection, in which these deaths are all that happens."""
    return tuple(
        Plan(
            seed=0,
            effects=(Effect(protection=protection, faults=faults),),
            deaths=deaths,
            people=people or People(),
            **more,
        )
        for protection in protections
    )


def _put(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    stack.enter_context(mock.patch.object(owner, name, value))


def _naive_retry(stack: ExitStack) -> None:
    """An unknown outcome is simply sent again."""

    def again(now: planner.Situation, call: state.CallState) -> planner.Act:
        return planner.Act(call=call, resend=True)

    _put(stack, planner, "settle", again)


def _ack_first(stack: ExitStack) -> None:
    """Work is taken off the queue before it is done: what its worker began, nobody looks at again."""
    real = steps.claim

    def claim(run_id: int) -> Any:
        begun = models.Run.objects.filter(pk=run_id, status="running").exists()
        return None if begun else real(run_id)

    _put(stack, steps, "claim", claim)


def _no_fence(stack: ExitStack) -> None:
    """Who takes a run over gets the same number as the one before."""
    real = steps.claim

    def claim(run_id: int) -> Any:
        held = real(run_id)
        if held is None or not held.took_over:
            return held
        models.Run.objects.filter(pk=run_id).update(fence=held.fence - 1)
        return replace(held, fence=held.fence - 1)

    _put(stack, steps, "claim", claim)


def _no_digest_check(stack: ExitStack) -> None:
    """The arguments are loaded and sent, whatever they were when they were approved."""

    def arguments(action: models.Action, tool: Any) -> Any:
        return tool.parse(models.Revision.objects.get(action=action, number=action.revision).arguments)

    _put(stack, preparing, "arguments_of", arguments)


def _check_then_act(stack: ExitStack) -> None:
    """Whoever decides looks at the question first, and writes later what follows from what was seen then."""
    real, get = decisions.decide, QuerySet.get

    def decide(review_id: int, *args: Any, **more: Any) -> Any:
        seen = models.Review.objects.select_related("action").get(pk=review_id)
        points.reach(CHECKED)

        def stale(query: QuerySet[Any], *given: Any, **named: Any) -> Any:
            row = get(query, *given, **named)
            return copy.copy(seen) if isinstance(row, models.Review) and row.pk == review_id else row

        with mock.patch.object(QuerySet, "get", stale):
            return real(review_id, *args, **more)

    _put(stack, decisions, "decide", decide)


def _skip_on_crash(stack: ExitStack) -> None:
    """What was begun when the worker died is taken to be done."""

    def doubt(claim: Any, call: Any, *, why: str, seen: int) -> None:
        attempt = models.Action.objects.get(
            run=claim.run_id, reply_position=call[0], call_index=call[1]
        ).attempt
        steps.happened(claim, call, attempt=attempt, receipt={"summary": "Done.", "value": None})

    _put(stack, steps, "doubt", doubt)


def _do_nothing(stack: ExitStack) -> None:
    """Nothing is ever doubled by an engine that does nothing."""
    _put(stack, advance, "advance", lambda run_id, **_: False)


def _answer_before_horizon(stack: ExitStack) -> None:
    """'It did not happen' is taken from a look before the horizon."""
    _put(stack, decisions, "_check_horizon", lambda *_: None)


def _absent_at_once(stack: ExitStack) -> None:
    """A look-up that finds nothing counts at once, before the request can no longer arrive."""
    real = planner.settle

    def hasty(now: planner.Situation, call: state.CallState) -> Any:
        found = real(now, call)
        return replace(found, absence_counts=True) if isinstance(found, planner.LookUp) else found

    _put(stack, planner, "settle", hasty)


def _park_without_inbox(stack: ExitStack) -> None:
    """A run is put to rest without naming the inbox number that was seen."""
    real = steps.wait

    def wait(claim: Any, *, reason: str, seen: int) -> None:
        points.reach(CHECKED)
        real(claim, reason=reason, seen=models.Run.objects.get(pk=claim.run_id).inbox)

    _put(stack, steps, "wait", wait)


def _one_proof_for_all(stack: ExitStack) -> None:
    """A proof about the last send is taken for a proof about every send."""
    _put(stack, settle, "_disproved", lambda *_: True)


def _resend_after_stop(stack: ExitStack) -> None:
    """What was begun is sent again under its key, although a stop was asked meanwhile."""
    look, gate = planner.settle, steps.intent

    def settled(now: planner.Situation, call: state.CallState) -> Any:
        return look(replace(now, stop=False), call)

    def intent(claim: Any, *args: Any, **more: Any) -> Any:
        with _hidden(claim.run_id, "stop_at", "stop_by_id"):
            return gate(claim, *args, **more)

    _put(stack, planner, "settle", settled)
    _put(stack, steps, "intent", intent)


def _plain_pause_flag(stack: ExitStack) -> None:
    """The hold is a flag that is read before the intent, not with it."""
    gate = steps.intent

    def intent(claim: Any, *args: Any, seen: int, **more: Any) -> Any:
        points.reach(CHECKED)
        with _hidden(claim.run_id, "hold_by_id"):
            return gate(claim, *args, seen=models.Run.objects.get(pk=claim.run_id).inbox, **more)

    _put(stack, steps, "intent", intent)


@contextmanager
def _hidden(run_id: int, *fields: str) -> Iterator[None]:
    """Let these fields of the run read as empty while the block runs."""
    rows = models.Run.objects.filter(pk=run_id)
    kept = rows.values(*fields).get()
    rows.update(**dict.fromkeys(fields))
    try:
        yield
    finally:
        rows.update(**kept)


CONTROLS: dict[str, Control] = {
    "naive-retry": Control(
        breaks=_naive_retry,
        plans=_plans(Death(point=tools.SENT), protections=("unprotected", "lookup")),
        caught_as=("doubled",),
    ),
    "ack-first": Control(breaks=_ack_first, plans=_plans(Death(point="read.before")), caught_as=("lost",)),
    "no-fence": Control(
        breaks=_no_fence,
        plans=(
            *_plans(Death(point="model.after_call", how="stall", undying=True)),
            *_plans(Death(point="model.after_call", at=2, how="stall", beside=False, undying=True)),
            *_plans(Death(point="reply.before", at=2, how="stall", beside=False, undying=True)),
        ),
        caught_as=("doubled", "repeated", "verifier", "untrue"),
    ),
    "no-digest-check": Control(
        breaks=_no_digest_check,
        plans=_plans(Death(point="fold_in.after_commit", how="act", act="tamper")),
        caught_as=("other bytes",),
    ),
    "check-then-act": Control(
        breaks=_check_then_act,
        plans=_plans(Death(point=CHECKED, how="act", act="approve")),
        caught_as=("decided twice",),
    ),
    "skip-on-crash": Control(
        breaks=_skip_on_crash,
        plans=_plans(Death(point="effect.before_send"), protections=("unprotected",) * 2),
        caught_as=("untrue",),
    ),
    "do-nothing": Control(breaks=_do_nothing, plans=_plans(), caught_as=("lost",)),
    "answer-before-horizon": Control(
        breaks=_answer_before_horizon,
        plans=_plans(faults=("late",), people=People(too_early=1.0), protections=("unprotected",) * 2),
        caught_as=("too early",),
    ),
    "absent-at-once": Control(
        breaks=_absent_at_once,
        plans=_plans(faults=("late",), protections=("lookup",) * 2),
        caught_as=("doubled",),
    ),
    "park-without-inbox": Control(
        breaks=_park_without_inbox,
        plans=_plans(Death(point=CHECKED, how="act", act="approve")),
        caught_as=("lost",),
    ),
    "quorum-by-count": Control(
        breaks=_check_then_act,
        plans=_plans(Death(point=CHECKED, how="act", act="approve"), quorum=2),
        caught_as=("lost",),
    ),
    "one-proof-for-all": Control(
        breaks=_one_proof_for_all,
        plans=_plans(faults=("late", "refused"), protections=("idempotent",) * 2),
        caught_as=("untrue", "doubled"),
    ),
    "resend-after-stop": Control(
        breaks=_resend_after_stop,
        plans=_plans(Death(point="effect.before_send", act="stop"), protections=("idempotent",) * 2),
        caught_as=("unreleased",),
    ),
    "plain-pause-flag": Control(
        breaks=_plain_pause_flag,
        plans=_plans(Death(point=CHECKED, how="act", act="pause")),
        caught_as=("unreleased",),
    ),
}


@contextmanager
def broken(name: str) -> Iterator[None]:
    """Build the engine wrongly in this way while the block runs; nothing is broken without a name."""
    with ExitStack() as stack:
        if name:
            CONTROLS[name].breaks(stack)
        yield


def tamper(run: models.Run) -> None:
    """Change the arguments of everything that is proposed, as somebody who owns the database can."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for revision in models.Revision.objects.filter(action__run=run):
            revision.arguments = {**revision.arguments, "note": "other words"}
            revision.save(update_fields=["arguments"])
        cursor.execute("SET session_replication_role = DEFAULT")
