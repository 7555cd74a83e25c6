"""Appends to a run's log. Only two may: the claimed engine, and whoever creates the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import exact, lifecycle, models


class Log:
    """Collects the lines of one transaction for a locked run; `flush` writes them and the run's new head together."""

    def __init__(self, run: models.Run) -> None:
        self.run = run
        self._lines: list[models.Entry] = []

    def append(self, kind: str, content: Mapping[str, Any], *, boundary: str | None = None) -> models.Entry:
        """Return the next line; with a `boundary` it is the next checkpoint too, with the counters as they are."""
        run = self.run
        run.position += 1
        line = models.Entry(run=run, position=run.position, kind=kind, content=dict(content))
        line.digest = exact.digest_of(line.content)
        if boundary is not None:
            run.checkpoint_number += 1
            run.checkpoint_position = run.position
            line.number, line.boundary, line.counters = run.checkpoint_number, boundary, counters(run)
        line.head = chain(run.head, line)
        run.head = line.head
        self._lines.append(line)
        return line

    def checkpoint(self, boundary: str) -> None:
        """Make the newest line of this transaction a checkpoint, if there is one and it isn't one already."""
        if not self._lines or self._lines[-1].number is not None:
            return
        line, run = self._lines[-1], self.run
        run.checkpoint_number += 1
        run.checkpoint_position = line.position
        line.number, line.boundary, line.counters = run.checkpoint_number, boundary, counters(run)
        previous = self._lines[-2].head if len(self._lines) > 1 else self._before
        line.head = chain(previous, line)
        run.head = line.head

    @property
    def pending(self) -> tuple[models.Entry, ...]:
        """Return the lines that this transaction has appended and not yet written."""
        return tuple(self._lines)

    @property
    def _before(self) -> str:
        """Return the head before this transaction's first line."""
        before = models.Entry.objects.filter(run=self.run, position=self._lines[0].position - 1).first()
        return before.head if before else exact.EMPTY

    @property
    def lines(self) -> tuple[models.Entry, ...]:
        """Return the lines of this transaction so far."""
        return tuple(self._lines)

    def flush(self) -> None:
        """Write the collected lines."""
        models.Entry.objects.bulk_create(self._lines)
        self._lines = []


def chain(previous: str, line: models.Entry) -> str:
    """Return the head after `line`: over the head before it, its place, kind, content digest and checkpoint."""
    return exact.link(
        previous,
        line.run_id,
        line.position,
        line.kind,
        line.digest,
        line.number or 0,
        line.boundary or "",
        "" if line.counters is None else exact.canonical(line.counters, limit=None),
    )


def counters(run: models.Run) -> dict[str, Any]:
    """Return what the run has used so far."""
    return {
        "steps": run.steps,
        "calls": run.calls,
        "tokens_in": run.tokens_in,
        "tokens_out": run.tokens_out,
        "cost_micro": run.cost_micro,
        "cost_known": run.cost_known,
    }


def moved(status: str, moves: tuple[lifecycle.Move, ...], new: str, *, by: str) -> str:
    """Return `new`, having checked that the table gives this move to `by`."""
    lifecycle.check(moves, status, new, by=by)
    return new
