"""Checkpoints as pages name them: a number on a run's path, found with what leads up to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db.models import Q, QuerySet

from runs.models import paths
from runs.models.log import Entry
from runs.models.run import Run


@dataclass(frozen=True, kw_only=True)
class Cut:
    """One checkpoint of a run's path: the line without its content, who holds it, and the path that ends there."""

    run: Run
    number: int
    boundary: str
    line: Entry
    path: tuple[tuple[int, int], ...]

    @property
    def holder(self) -> int:
        """Return the run whose log has the line."""
        return self.line.run_id

    @property
    def position(self) -> int:
        """Return the place of its line on the path."""
        return self.line.position


def find(run: Run, number: int) -> Cut | None:
    """Return a checkpoint of the run's path, or None where there is none of that number."""
    line = paths.checkpoints(run).filter(number=number).defer("content").first()
    if line is None:
        return None
    path = tuple((int(ancestor), int(last)) for ancestor, last in paths.to(run, line))
    return Cut(run=run, number=number, boundary=line.boundary or "", line=line, path=path)


def lines(path: Iterable[tuple[int, int]], *, after: int = 0) -> QuerySet[Entry]:
    """Return the lines of a path behind the position `after`, in order."""
    return Entry.objects.filter(on(path, after=after)).order_by("position")


def on(path: Iterable[tuple[int, int]], *, after: int = 0) -> Q:
    """Return the condition that a row with run and position lies on the path, behind the position `after`."""
    found = Q(pk__in=())
    for ancestor, last in path:
        if last > after:
            found |= Q(run=ancestor, position__lte=last, position__gt=after)
    return found


def shared(one: Sequence[Sequence[int]], other: Sequence[Sequence[int]]) -> int:
    """Return the position up to which two paths are the same; 0 if they have nothing in common."""
    common = 0
    for (run, last), (other_run, other_last) in zip(one, other, strict=False):
        if run != other_run:
            break
        common = min(int(last), int(other_last))
        if last != other_last:
            break
    return common


def of(run: Run) -> list[list[int]]:
    """Return the whole path of a run, its own lines with it."""
    return [*run.path, [run.pk, run.position]]
