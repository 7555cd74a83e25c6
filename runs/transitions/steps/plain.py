"""The plain steps, which need nothing but what the worker has read: nearly every reply, read, intent and receipt.

Each writes into a statement in the making and says whether it could; where it could not, the long way under the run
row's lock (`reply`, `read`, `intent`, `happened`) does the same and everything else.
"""

from __future__ import annotations

from typing import Any

from runs import lifecycle, models
from runs.state import CallId
from runs.transitions.steps import intent, occurrences, reply, settle
from runs.transitions.steps._one import OneStatement


def replied(work: OneStatement, record: reply.Record) -> bool:
    """Write the reply of a first attempt that changes no plan and repeats nothing.

    Whether the run has proposed the same before is found out by the commit, which is Taken then.
    """
    first = not work.run.path and work.run.mode == models.Run.Mode.LIVE
    if not first or any(call.plan is not None or call.duplicate_of is not None for call in record.calls):
        return False
    work.unheard(call.identity_digest for call in record.calls if call.tier)
    reply.write(work, record)
    return True


def started(work: OneStatement, wish: intent.Wish) -> intent.Started | None:
    """Write the intent of an effect that policy allows and that was neither asked about, sent nor changed before.

    Whether its identity has an occurrence already is found out by the commit: number 0 is then Taken.
    """
    action, run = work.action(wish.call), work.run
    plain = (
        action.status == lifecycle.Action.APPROVED
        and action.verdict == wish.verdict == "allow"
        and (action.digest, action.contract) == (wish.digest, wish.contract)
        and action.attempt == 0
        and wish.precondition is None
        and action.not_before is None
        and run.stop_at is None
        and run.hold_by_id is None
        and {action.duplicate_of_id, action.blocked_by_id, action.occurrence_id, action.undo_of_id} == {None}
    )
    return intent.start(work, action, None, wish, occurrences.Found()) if plain else None


def happened(work: OneStatement, call: CallId, *, attempt: int, receipt: dict[str, Any]) -> None:
    """Write the worker's own receipt."""
    action = work.action(call)
    settle.happened(
        work, action, attempt=attempt, receipt=receipt, source="run", text=str(receipt["summary"])
    )
