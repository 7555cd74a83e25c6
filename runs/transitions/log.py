"""Appends to a run's log. Only two may: the claimed engine, and whoever creates the run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from runs import exact, lifecycle, models
from runs.models import columns, wire


@dataclass(slots=True)
class Line:
    """One line in the making: its content, the text that is stored, and the checkpoint that it may be."""

    position: int
    kind: str
    content: dict[str, Any]
    text: str
    head: str = exact.EMPTY
    number: int | None = None
    boundary: str | None = None
    counters: str | None = None

    def values(self) -> columns.Values:
        """Return what an insert writes of it, in the order of `COLUMNS`."""
        number, word = columns.number, columns.word
        place = [number(self.position), word(self.kind), word(self.text), columns.digest(self.head)]
        return [*place, number(self.number), word(self.boundary), word(self.counters)]


COLUMNS = "position, kind, content, head, number, boundary, counters"
PLACES = "(%s::integer, %s::varchar, %s::text, %s::bytea, %s::integer, %s::varchar, %s::text)"


@lru_cache(maxsize=64)
def _insert(lines: int) -> str:
    rows = ", ".join([PLACES] * lines)
    return columns.numbered(
        f"INSERT INTO runs_entry (run_id, {COLUMNS}) SELECT %s::bigint, v.* FROM (VALUES {rows}) v"
    )


class Log:
    """Collects the lines of one transaction for a locked run; `flush` writes them and the run's new head together."""

    def __init__(self, run: models.Run) -> None:
        self.run = run
        self.lines: list[Line] = []
        self.stamp: dict[str, Any] = {}
        """What the next line says beside its own content."""
        self._before = run.head

    def append(self, kind: str, content: Mapping[str, Any], *, boundary: str | None = None) -> Line:
        """Return the next line; with a `boundary` it is the next checkpoint too, with the counters as they are."""
        run = self.run
        run.position += 1
        kept = {**content, **self.stamp}
        self.stamp = {}
        line = Line(position=run.position, kind=kind, content=kept, text=exact.text_of(kept))
        self.lines.append(line)
        if boundary is not None:
            self._mark(line, boundary)
        self._link(line, run.head)
        return line

    def checkpoint(self, boundary: str) -> None:
        """Make the newest line of this transaction a checkpoint, if there is one and it isn't one already."""
        if not self.lines or self.lines[-1].number is not None:
            return
        self._mark(self.lines[-1], boundary)
        self._link(self.lines[-1], self.lines[-2].head if len(self.lines) > 1 else self._before)

    def _mark(self, line: Line, boundary: str) -> None:
        run = self.run
        run.checkpoint_number += 1
        run.checkpoint_position = line.position
        line.number, line.boundary, line.counters = (
            run.checkpoint_number,
            boundary,
            exact.text_of(list(counters(run).values())),
        )

    def _link(self, line: Line, previous: str) -> None:
        line.head = self.run.head = link(
            previous,
            self.run.pk,
            line.position,
            line.kind,
            exact.digest(line.text),
            line.number,
            line.boundary,
            line.counters,
        )

    def flush(self) -> None:
        """Write the collected lines."""
        for text, values in self.written():
            wire.execute(text, values)

    def written(self) -> list[wire.Statement]:
        """Return the statement that writes the collected lines, none where there are none; they count as written."""
        lines, self.lines = self.lines, []
        values = [columns.number(self.run.pk), *(value for line in lines for value in line.values())]
        return [(_insert(len(lines)), values)] if lines else []


def link(
    previous: str,
    run_id: int,
    position: int,
    kind: str,
    digest: str,
    number: int | None,
    boundary: str | None,
    counters: str | None,
) -> str:
    """Return the head after a line: over the head before it, its place, kind, content digest and checkpoint."""
    return exact.link(previous, run_id, position, kind, digest, number or 0, boundary or "", counters or "")


def chain(previous: str, line: models.Entry) -> str:
    """Return the head after a stored line."""
    counted = None if line.counters is None else exact.text_of(line.counters)
    digest = exact.digest_of(line.content)
    return link(previous, line.run_id, line.position, line.kind, digest, line.number, line.boundary, counted)


COUNTED = ("steps", "calls", "tokens_in", "tokens_out", "cost_micro", "cost_known")


def counters(run: models.Run) -> dict[str, Any]:
    """Return what the run has used so far."""
    return {name: getattr(run, name) for name in COUNTED}


def counted(counters: Sequence[Any] | Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the counters of a checkpoint by name; it stores their values in this order, older ones with the names."""
    if counters is None or isinstance(counters, Mapping):
        return dict(counters or {})
    return dict(zip(COUNTED, counters, strict=True))


def moved(status: str, moves: lifecycle.Moves, new: str, *, by: str) -> str:
    """Return `new`, having checked that the table gives this move to `by`."""
    lifecycle.check(moves, status, new, by=by)
    return new
