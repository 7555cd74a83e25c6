"""The frames of the engine's commits. The bodies are the same in both; what differs is how they reach the database.

`fenced` locks the run row first, checks the fence in the next statement, and lets the body read whatever it needs.
`OneStatement` is for the plain case of a step, which needs nothing but what the worker has read already: the body works
on those rows, and everything that it wrote goes out as one guarded statement, which is its own transaction.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from runs import hints, lifecycle, models
from runs.models import columns, wire
from runs.state import CallId
from runs.transitions import inbox, log, rows
from runs.transitions.committing import committing
from runs.transitions.refusals import Changed, LostAuthority
from runs.transitions.steps import advances

RUN_FIELDS = (
    "status", "reason", "hold_by", "hold_reason", "hold_right", "remind_at", "position", "head", "reply_position",
    "checkpoint_number", "checkpoint_position", "plan_version", "approved_plan", "pins", "offered", "renewed_at",
    "folded", "lease_until", "attempts", "wake_at", "steps", "calls", "tokens_in", "tokens_out", "cost_micro",
    "cost_known", "active_seconds", "error", "summary", "ended_at", "begun", "waivers", "advance", "tool_calls",
    "budget_review",
)  # fmt: skip


RUN_COLUMNS = tuple(field.attname for field in models.Run._meta.concrete_fields if field.name in RUN_FIELDS)
_OF_CALL = "run_id = $1 AND reply_position = $2 AND call_index = $3 FOR NO KEY UPDATE"
Row = TypeVar("Row", models.Action, models.Occurrence)


@dataclass(frozen=True, kw_only=True)
class Claim:
    """One worker's right to move one run, good while the run row carries this fence."""

    run_id: int
    fence: int
    took_over: bool = False
    attempts: int = 1
    unread: bool = False
    begun: bool = True
    due: str = ""  # why it was due


class Work:
    """One engine commit in the making: the run, its log, the database's time, and what the body writes."""

    def __init__(self, run: models.Run, now: datetime.datetime) -> None:
        self.run = run
        self.now = now
        self.log = log.Log(run)
        self.inbox_changed = False
        self.closed_effect = False

    def action(self, call: CallId) -> models.Action:
        """Return the action of a call, safe to change."""
        raise NotImplementedError

    def numbered(self, action_id: int) -> models.Action:
        """Return the action of this number, safe to change: of this run, or one of an earlier attempt."""
        raise NotImplementedError

    def occurrence(self, row: models.Occurrence) -> models.Occurrence:
        """Return the occurrence, safe to change."""
        raise NotImplementedError

    def add(self, row: models.Action | models.Occurrence) -> None:
        """Write a new row."""
        raise NotImplementedError

    def save(self, row: models.Action | models.Occurrence, *names: str) -> None:
        """Write these fields of a row."""
        raise NotImplementedError

    def step(self, key: str, **changes: Any) -> None:
        """Write the progress of a plan step."""
        raise NotImplementedError

    def move(self, action: models.Action, new: str, **changes: Any) -> None:
        """Give the action its new status, checked against the table of moves, and save it with these changes."""
        if action.status != new:
            lifecycle.check(lifecycle.ACTION_MOVES, action.status, new, by="E")
        action.status = new
        for name, value in changes.items():
            setattr(action, name, value)
        if new not in lifecycle.ACTION_OPEN:
            action.closed_at = self.now
        self.save(action, "status", "closed_at", *changes)

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
        advances.give_back(run, self.log)


class Locked(Work):
    """Writes row by row, under the run row's lock."""

    def __init__(self, run: models.Run, now: datetime.datetime) -> None:
        super().__init__(run, now)
        self._actions: dict[CallId, models.Action] = {}
        self._before: dict[int, dict[str, Any]] = {}
        self._own = {name: run.__dict__[name] for name in RUN_COLUMNS}

    def action(self, call: CallId) -> models.Action:
        """Return the locked action of a call."""
        if call not in self._actions:
            self._actions[call] = self._known(columns.one(models.Action, _OF_CALL, self.run.pk, *call))
        return self._actions[call]

    def numbered(self, action_id: int) -> models.Action:
        """Return the locked action of this number."""
        known = next((row for row in self._actions.values() if row.pk == action_id), None)
        if known is not None:
            return known
        row = self._known(columns.one(models.Action, "id = $1 FOR NO KEY UPDATE", action_id))
        if row.run_id == self.run.pk:
            self._actions[row.reply_position, row.call_index] = row
        return row

    def occurrence(self, row: models.Occurrence) -> models.Occurrence:
        """Return the locked occurrence."""
        return self._known(columns.one(models.Occurrence, "id = $1 FOR NO KEY UPDATE", row.pk))

    def add(self, row: models.Action | models.Occurrence) -> None:
        """Write a new row at once."""
        rows.insert(row)
        self._before[id(row)] = dict(row.__dict__)

    def save(self, row: models.Action | models.Occurrence, *names: str) -> None:
        """Write the row at once, whatever a body has changed of it on the way."""
        before = self._before.get(id(row))
        if before is None:
            row.save()
            return
        rows.update(row, before)
        before.update(row.__dict__)

    def finish(self) -> None:
        """Write the lines and the run."""
        statements = [*self.log.written(), *rows.changed(self.run, self._own)]
        if statements:
            wire.together(statements)

    def _known(self, row: Row) -> Row:
        self._before[id(row)] = dict(row.__dict__)
        return row

    def step(self, key: str, **changes: Any) -> None:
        """Write the progress of a plan step at once."""
        models.PlanStep.objects.filter(run=self.run, key=key).update(**changes)


@contextmanager
def fenced(claim: Claim, point: str, *, seen: int | None = None) -> Iterator[Work]:
    """Give the work of one engine commit under the run row's lock.

    Refuses LostAuthority when the run carries another fence, and Changed when `seen` is given and the inbox number
    has moved: replies, results and receipts need the fence only, everything that starts or ends something needs both.
    A refusal raised inside leaves nothing behind.
    """
    with committing(point):
        run, now = inbox.lock_now(claim.run_id)
        check(run, claim, seen=seen)
        work = Locked(run, now)
        yield work
        work.finish()
        hints.changed(run.pk, inbox=work.inbox_changed)


def check(run: models.Run, claim: Claim, *, seen: int | None) -> None:
    """Refuse LostAuthority and Changed by the run as it is now."""
    if run.fence != claim.fence or run.status != lifecycle.Run.RUNNING:
        raise LostAuthority(f"run {claim.run_id} carries fence {run.fence}, not {claim.fence}")
    if seen is not None and run.inbox != seen:
        raise Changed(f"run {claim.run_id} has inbox {run.inbox}, {seen} was seen")
