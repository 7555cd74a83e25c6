"""The frame of every engine commit: lock the run row first, check the fence in the next statement, write, commit."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from runs import hints, lifecycle, models
from runs.state import CallId
from runs.transitions import clock_time, inbox, log
from runs.transitions.committing import committing
from runs.transitions.refusals import Changed, LostAuthority
from runs.transitions.steps import advances

RUN_FIELDS = (
    "status", "reason", "hold_by", "hold_reason", "hold_right", "remind_at", "position", "head", "reply_position",
    "checkpoint_number", "checkpoint_position", "plan_version", "approved_plan", "pins", "offered", "renewed_at",
    "folded", "lease_until", "attempts", "wake_at", "steps", "calls", "tokens_in", "tokens_out", "cost_micro",
    "cost_known", "active_seconds", "error", "summary", "ended_at", "begun", "advance", "budget_review",
)  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One worker's right to move one run, good while the run row carries this fence."""

    run_id: int
    fence: int
    took_over: bool = False
    attempts: int = 1
    unread: bool = False
    begun: bool = True


@dataclass
class Work:
    """One engine commit in the making: the locked run, its log and the database's time."""

    run: models.Run
    log: log.Log
    now: datetime.datetime
    inbox_changed: bool = False
    closed_effect: bool = False
    _actions: dict[CallId, models.Action] = field(default_factory=dict)

    def action(self, call: CallId) -> models.Action:
        """Return the locked action of a call."""
        if call not in self._actions:
            self._actions[call] = models.Action.objects.select_for_update().get(
                run=self.run, reply_position=call[0], call_index=call[1]
            )
        return self._actions[call]

    def move(self, action: models.Action, new: str, **changes: Any) -> None:
        """Give the action its new status, checked against the table of moves, and save it."""
        action.status = (
            log.moved(action.status, lifecycle.ACTION_MOVES, new, by="E") if action.status != new else new
        )
        for name, value in changes.items():
            setattr(action, name, value)
        if new not in lifecycle.ACTION_OPEN:
            action.closed_at = self.now
        action.save()

    def move_run(self, new: str) -> None:
        """Give the run its new status, checked against the table of moves."""
        self.run.status = log.moved(self.run.status, lifecycle.RUN_MOVES, new, by="E")

    def progressed(self) -> None:
        """Note progress: claims are counted since the last committed reply, result or closed action."""
        self.run.attempts = 0
        self.run.error = ""

    def release(self) -> None:
        """Give the lease and the budget's advance back, and book the active seconds; the caller has set the status."""
        run = self.run
        run.lease_until = None
        run.attempts = max(0, run.attempts - 1)  # a claim that is handed back isn't counted
        if run.claimed_at is not None:
            run.active_seconds += max(0.0, (self.now - run.claimed_at).total_seconds())
        advances.give_back(run)


@contextmanager
def fenced(claim: Claim, point: str, *, seen: int | None = None) -> Iterator[Work]:
    """Give the work of one engine commit.

    Refuses LostAuthority when the run carries another fence, and Changed when `seen` is given and the inbox number
    has moved: replies, results and receipts need the fence only, everything that starts or ends something needs both.
    A refusal raised inside leaves nothing behind.
    """
    with committing(point):
        run = inbox.lock(claim.run_id)
        if run.fence != claim.fence or run.status != lifecycle.Run.RUNNING:
            raise LostAuthority(f"run {claim.run_id} carries fence {run.fence}, not {claim.fence}")
        if seen is not None and run.inbox != seen:
            raise Changed(f"run {claim.run_id} has inbox {run.inbox}, {seen} was seen")
        work = Work(run=run, log=log.Log(run), now=clock_time.now())
        yield work
        work.log.flush()
        run.save(update_fields=RUN_FIELDS)
        hints.changed(run.pk, inbox=work.inbox_changed)
