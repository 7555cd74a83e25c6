"""Each function builds one thing wrongly, in the product as it runs in this process, until the stack is closed."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

from django.db import connection

from runs import lifecycle, models, planner, points, state
from runs.engine import advance, preparing
from runs.transitions import absent, answers, children, decisions, holds, steps
from runs.transitions.steps import occurrences

CHECKED = "control.checked"
"""The point at which a wrongly built engine has looked, and has not acted yet."""


def _put(stack: ExitStack, owner: Any, name: str, value: Any) -> None:
    stack.enter_context(mock.patch.object(owner, name, value))


def naive_retry(stack: ExitStack) -> None:
    """An unknown outcome is simply sent again."""

    def again(now: planner.Situation, call: state.CallState) -> planner.Act:
        return planner.Act(call=call, resend=True)

    _put(stack, planner, "settle", again)


def ack_first(stack: ExitStack) -> None:
    """Work is taken off the queue before it is done: what its worker began, nobody looks at again."""
    real = steps.claim

    def claim(run_id: int) -> Any:
        begun = models.Run.objects.filter(pk=run_id, status="running").exists()
        return None if begun else real(run_id)

    _put(stack, steps, "claim", claim)


def no_fence(stack: ExitStack) -> None:
    """Who takes a run over gets the same number as the one before."""
    real = steps.claim

    def claim(run_id: int) -> Any:
        held = real(run_id)
        if held is None or not held.took_over:
            return held
        models.Run.objects.filter(pk=run_id).update(fence=held.fence - 1)
        return replace(held, fence=held.fence - 1)

    _put(stack, steps, "claim", claim)


def number_by_calls(stack: ExitStack) -> None:
    """An effect's number is that of its call: the nth proposal of this identity in its attempt."""

    def find(work: Any, action: models.Action, **_: Any) -> occurrences.Found:
        same = models.Action.objects.filter(
            run=action.run_id, tool=action.tool, identity_digest=action.identity_digest, pk__lt=action.pk
        ).exclude(pk=action.pk)
        n = same.count()
        row = models.Occurrence.objects.filter(
            root=work.run.root_id, tool=action.tool, identity_digest=action.identity_digest, n=n
        ).first()
        if row is not None and row.pk == action.occurrence_id:
            return occurrences.Found(own=row)
        return occurrences.Found(n=n) if row is None else occurrences.Found(standing=row)

    _put(stack, occurrences, "find", find)


def no_digest_check(stack: ExitStack) -> None:
    """The arguments are loaded and sent, whatever they were when they were approved."""

    def arguments(action: models.Action, tool: Any, known: Any = None) -> Any:
        return tool.parse(action.arguments())

    _put(stack, preparing, "arguments_of", arguments)


def check_then_act(stack: ExitStack) -> None:
    """Whoever decides looks at the question first, and writes later what follows from what was seen then."""
    real, lock = decisions.decide, decisions.locked

    def decide(review_id: int, *args: Any, **more: Any) -> Any:
        seen = models.Review.objects.select_related("action__occurrence").get(pk=review_id)
        points.reach(CHECKED)

        def stale(review_ids: Iterable[int]) -> dict[int, models.Review]:
            return lock(review_ids) | {review_id: copy.copy(seen)}

        with mock.patch.object(decisions, "locked", stale):
            return real(review_id, *args, **more)

    _put(stack, decisions, "decide", decide)


def skip_on_crash(stack: ExitStack) -> None:
    """What was begun when the worker died is taken to be done."""

    def doubt(claim: Any, call: Any, *, why: str, seen: int) -> None:
        attempt = models.Action.objects.get(
            run=claim.run_id, reply_position=call[0], call_index=call[1]
        ).attempt
        steps.happened(claim, call, attempt=attempt, receipt={"summary": "Done.", "value": None})

    _put(stack, steps, "doubt", doubt)


def do_nothing(stack: ExitStack) -> None:
    """Nothing is ever doubled by an engine that does nothing."""
    _put(stack, advance, "advance", lambda run_id, **_: False)


def answer_before_horizon(stack: ExitStack) -> None:
    """'It did not happen' is taken from a look before the horizon."""
    _put(stack, answers, "_check_horizon", lambda *_: None)


def absent_at_once(stack: ExitStack) -> None:
    """A look-up that finds nothing counts at once, before the request can no longer arrive."""
    real = planner.settle

    def hasty(now: planner.Situation, call: state.CallState) -> Any:
        found = real(now, call)
        return replace(found, absence_counts=True) if isinstance(found, planner.LookUp) else found

    _put(stack, planner, "settle", hasty)


def park_without_inbox(stack: ExitStack) -> None:
    """A run is put to rest without naming the inbox number that was seen."""
    real = steps.wait

    def wait(claim: Any, *, reason: str, seen: int) -> None:
        points.reach(CHECKED)
        real(claim, reason=reason, seen=models.Run.objects.get(pk=claim.run_id).inbox)

    _put(stack, steps, "wait", wait)


def one_proof_for_all(stack: ExitStack) -> None:
    """A proof about the last send is taken for a proof about every send."""
    _put(stack, absent, "attempts", lambda *_, **__: frozenset(range(100)))


def resend_after_stop(stack: ExitStack) -> None:
    """What was begun is sent again under its key, although a stop was asked meanwhile."""
    look, gate = planner.settle, steps.intent

    def settled(now: planner.Situation, call: state.CallState) -> Any:
        return look(replace(now, stop=False), call)

    def intent(claim: Any, *args: Any, **more: Any) -> Any:
        with _hidden(claim.run_id, "stop_at", "stop_by_id"):
            return gate(claim, *args, **more)

    _put(stack, planner, "settle", settled)
    _put(stack, steps, "intent", intent)


def plain_pause_flag(stack: ExitStack) -> None:
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


def tamper(run: models.Run) -> None:
    """Change the arguments of everything that is proposed, as somebody who owns the database can."""
    with connection.cursor() as cursor:
        cursor.execute("SET session_replication_role = replica")
        for revision in models.Revision.objects.filter(action__run=run):
            revision.arguments = {**revision.arguments, "note": "other words"}
            revision.save(update_fields=["arguments"])
        for line in models.Entry.objects.filter(run=run, kind=lifecycle.EntryKind.REPLY):
            for call in line.content["calls"]:
                if call["effect"] not in {"read", "control"}:
                    call["arguments"] = {**call["arguments"], "note": "other words"}
            line.save(update_fields=["content"])
        cursor.execute("SET session_replication_role = DEFAULT")


def keep_the_end(stack: ExitStack) -> None:
    """How work that was handed over has ended is told to nobody."""
    _put(stack, children, "give_back", lambda: 0)


def stop_above_only(stack: ExitStack) -> None:
    """A stop is acknowledged although what is below goes on."""
    _put(stack, holds, "_stop_below", lambda _run_id: None)
    _put(stack, children, "stop_below", lambda: 0)
