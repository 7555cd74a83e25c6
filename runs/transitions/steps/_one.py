"""An engine commit as one data-modifying statement: the plain steps of a run, which are nearly all of them.

Each part of the statement hangs on the run row's update, which names the fence (and, for what starts something, the
inbox number that was seen and that nobody stops or holds the run), so no part is written without it, and the run row
is locked first. `runs_require` counts the rows that had to be changed and raises when one is missing, so that nothing
stays.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from django.db import DatabaseError, IntegrityError, connection
from django.db.models import Model

from runs import hints, models, points
from runs.models import columns, wire
from runs.state import CallId
from runs.transitions.refusals import Changed
from runs.transitions.steps import _sql
from runs.transitions.steps._statement import RUN_COLUMNS, Claim, Work, check

NEAR = b"1.0"
"""So many seconds may the worker's idea of the database's time be off when an effect starts."""

_RUN_COLUMNS: tuple[tuple[str, Any], ...] = tuple(
    (field.attname, columns.writer(field))
    for field in models.Run._meta.concrete_fields
    if field.attname in RUN_COLUMNS
)


class Taken(Changed):
    """An identity isn't new: it has an occurrence, or was proposed before, so it must be looked at properly."""


@dataclass(frozen=True, kw_only=True)
class Mark:
    """What a statement in the making held at one moment."""

    rows: tuple[tuple[Model, dict[str, Any]], ...]
    lines: int
    added: int
    saved: dict[int, tuple[Model, frozenset[str]]]
    steps: tuple[tuple[str, dict[str, Any]], ...]
    unheard: int
    occurrence: models.Occurrence | None


class OneStatement(Work):
    """Collects what a body writes, and commits it whole. The rows are the worker's own: after a refusal reload them."""

    def __init__(
        self,
        claim: Claim,
        run: models.Run,
        actions: dict[CallId, models.Action],
        now: datetime.datetime,
    ) -> None:
        super().__init__(run, now)
        self.claim = claim
        self.actions = actions
        self._before = dict(run.__dict__)
        self._unheard: list[str] = []
        self._added: list[models.Action] = []
        self._occurrence: models.Occurrence | None = None
        self._saved: dict[int, tuple[Model, frozenset[str]]] = {}
        self._steps: list[tuple[str, dict[str, Any]]] = []

    def action(self, call: CallId) -> models.Action:
        """Return the action of a call as the worker has it; no one else writes it while the run is leased."""
        return self.actions[call]

    def occurrence(self, row: models.Occurrence) -> models.Occurrence:
        """Return the occurrence as the worker has it: nobody settles one whose action has an open intent here."""
        return row

    def add(self, row: models.Action | models.Occurrence) -> None:
        """Write a new row with the statement: any number of actions, one occurrence."""
        if isinstance(row, models.Action):
            self._added.append(row)
            self.actions[row.reply_position, row.call_index] = row
            return
        assert self._occurrence is None
        self._occurrence = row

    def save(self, row: models.Action | models.Occurrence, *names: str) -> None:
        """Write these fields of a row with the statement."""
        if row is self._occurrence or any(row is added for added in self._added):
            return
        known = self._saved.get(id(row))
        self._saved[id(row)] = (row, frozenset(names) | (known[1] if known else frozenset()))

    def step(self, key: str, **changes: Any) -> None:
        """Write the progress of a plan step with the statement."""
        for at, (name, held) in enumerate(self._steps):
            if name == key:
                self._steps[at] = (key, held | changes)
                return
        self._steps.append((key, changes))

    def unheard(self, identities: Iterable[str]) -> None:
        """Let the commit be Taken if the run has proposed one of these identities before."""
        self._unheard += identities

    def mark(self, *more: Model) -> Mark:
        """Return what is collected so far, to come `back` to; `more` are rows that what follows may change."""
        rows: list[Model] = [self.run, *self._added, *(row for row, _ in self._saved.values()), *more]
        if self._occurrence is not None:
            rows.append(self._occurrence)
        return Mark(
            rows=tuple((row, dict(row.__dict__)) for row in rows),
            lines=len(self.log.lines),
            added=len(self._added),
            saved=dict(self._saved),
            steps=tuple(self._steps),
            unheard=len(self._unheard),
            occurrence=self._occurrence,
        )

    def back(self, mark: Mark) -> None:
        """Forget what was collected since `mark`."""
        for row, held in mark.rows:
            row.__dict__.clear()
            row.__dict__.update(held)
        del self.log.lines[mark.lines :]
        del self._added[mark.added :]
        self._steps = list(mark.steps)
        del self._unheard[mark.unheard :]
        self._saved, self._occurrence = mark.saved, mark.occurrence

    def commit(
        self, point: str, *, seen: int | None = None, meanwhile: Callable[[], object] = lambda: None
    ) -> int:
        """Write everything and return the inbox number now. With `seen` nothing may have been left, stopped or held.

        `meanwhile` is called while the database is at it; what it finds counts only when this doesn't refuse.
        Refuses LostAuthority, Changed, and Taken; after a refusal nothing is written.
        """
        if connection.in_atomic_block:
            raise RuntimeError("a step of the engine is a transaction of its own")
        text, values = self._statement(seen)
        points.reach(f"{point}.before")
        try:
            rows = wire.execute(text, values, meanwhile=meanwhile)
        except IntegrityError as error:
            raise Taken(f"run {self.claim.run_id}: {str(error).splitlines()[0]}") from error
        except DatabaseError as error:
            if getattr(error.__cause__, "sqlstate", None) == "CK001":
                raise Changed(f"run {self.claim.run_id}: {str(error).splitlines()[0]}") from error
            raise
        if not rows:
            now = models.Run.objects.get(pk=self.claim.run_id)
            check(now, self.claim, seen=seen)
            if seen is None or (now.stop_at is None and now.hold_by_id is None and self._unheard):
                raise Taken(f"run {self.claim.run_id} has proposed the same before")
            raise Changed(f"run {self.claim.run_id} was stopped or held")
        inbox, new = rows[0][:2]
        self._number(_numbers(new))
        points.reach(f"{point}.after_commit")
        hints.changed_now(self.run.pk, inbox=self.inbox_changed)
        assert inbox is not None
        return int(inbox)

    def _number(self, new: list[int | None] | None) -> None:
        """Give the new rows the numbers that the database gave them."""
        if self._occurrence is not None:
            self._occurrence.pk = new[0] if new else None
            self._occurrence._state.adding = False
        for action, number in zip(self._added, (new or [])[1:], strict=True):
            action.pk = number
            action._state.adding = False
        if self._occurrence is not None:
            owner = self._occurrence.owner
            # Past the fields: to set a number there would forget the row that it names, and read it again.
            self._occurrence.__dict__["owner_id"] = owner.pk
            owner.__dict__["occurrence_id"] = self._occurrence.pk

    def _links(self, row: Model, names: Iterable[str]) -> bool:
        """Return whether the row names the occurrence that this statement makes, and so has no number yet."""
        if self._occurrence is None or "occurrence" not in names:
            return False
        return row._state.fields_cache.get("occurrence") is self._occurrence

    def _statement(self, seen: int | None) -> tuple[str, columns.Values]:
        run, lines = self.run, self.log.lines
        held, before = run.__dict__, self._before
        changed = [
            (attname, convert) for attname, convert in _RUN_COLUMNS if held[attname] != before[attname]
        ]
        saved = tuple(
            (type(row), tuple(sorted(names)), self._links(row, names)) for row, names in self._saved.values()
        )
        steps = tuple(tuple(changes) for _, changes in self._steps)
        links = tuple(self._links(row, {"occurrence"}) for row in self._added)
        owner: int | None = None
        if self._occurrence is not None and self._occurrence.owner_id is None:
            owner = next(at for at, row in enumerate(self._added) if row is self._occurrence.owner)
        text = _sql.text(
            _sql.Shape(
                run=tuple([attname for attname, _ in changed]),
                seen=seen is not None,
                unheard=bool(self._unheard),
                lines=len(lines),
                actions=links,
                occurrence=self._occurrence is not None,
                owner=owner,
                saved=saved,
                steps=steps,
            )
        )
        number = columns.number
        values: columns.Values = [convert(held[attname]) for attname, convert in changed]
        values += [number(held["id"]), number(self.claim.fence), number(before["position"])]
        if seen is not None:
            values += [number(seen), self.now.isoformat().encode(), NEAR]
        if self._unheard:
            values += [columns.digests(self._unheard)] * 2
        for line in lines:
            values += line.values()
        for row, linked in zip(self._added, links, strict=True):
            values += _sql.values(row, skip="occurrence_id" if linked else "")
        if self._occurrence is not None:
            values += _sql.values(self._occurrence, skip="" if owner is None else "owner_id")
        for (changed_row, _), (_, names, linked) in zip(self._saved.values(), saved, strict=True):
            values += _sql.changes(changed_row, names, linked)
        for key, changes in self._steps:
            values += [*_sql.written(models.PlanStep, changes), columns.word(key)]
        return text, values


def _numbers(array: bytes | None) -> list[int | None] | None:
    """Return the numbers of an array as the server writes it."""
    if array is None:
        return None
    return [None if part == b"NULL" else int(part) for part in array[1:-1].split(b",")]
