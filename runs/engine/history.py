"""What the lineage has to say about a call before it is asked about: done, refused, changed, or much like it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from runs import lifecycle, models
from runs.models import paths
from runs.tools.contract import Tool

NOT_DONE = frozenset(
    {
        lifecycle.Action.DENIED,
        lifecycle.Action.SUPERSEDED,
        lifecycle.Action.EXPIRED,
        lifecycle.Action.FAILED,
        lifecycle.Action.SIMULATED,
    }
)
SHOWN = 20


@dataclass(frozen=True, kw_only=True)
class Past:
    """What was before. With a duplicate, a reason or something alike, policy alone may not allow the call.

    `alike` are standing effects of earlier attempts that this may be once more, in other words.
    """

    duplicate: models.Action | None = None
    reasons: tuple[str, ...] = ()
    alike: tuple[models.Occurrence, ...] = ()

    @property
    def asks(self) -> bool:
        """Return whether a person has to decide, whatever policy says."""
        return self.duplicate is not None or bool(self.reasons)


def of(run: models.Run, tool: Tool, *, identity: str, but: int | None = None) -> Past:
    """Return what the lineage knows about calls with this identity, leaving out the action `but`."""
    if tool.risk() == 0:
        return Past()
    where = Q(run=run.pk)
    if run.path:  # a first attempt has nothing before it
        where |= Q(run__root=run.root_id) | Q(run__in=[ancestor for ancestor, _ in run.path])
    others = models.Action.objects.filter(where, tool=tool.name).exclude(pk=but or 0).order_by("-pk")
    rows = list(others.filter(identity_digest=identity))
    alike = _alike(run, tool, identity)
    return Past(
        duplicate=next((row for row in rows if _done_here(run, row)), None),
        reasons=(
            *_refused(rows),
            *_changed(others.filter(proposed_identity=identity)),
            *_said(run, tool, alike, identity),
        ),
        alike=alike[:SHOWN],
    )


def _done_here(run: models.Run, row: models.Action) -> bool:
    """Return whether this action was not refused, and lies on the run's path."""
    if row.status in NOT_DONE:
        return False
    return row.run_id == run.pk or paths.closed_on(run.path, row)


def _refused(rows: Iterable[models.Action]) -> list[str]:
    """Return a sentence about each time that people refused just this; newest first."""
    return [_rejected(row) for row in rows if row.status == lifecycle.Action.REJECTED][:3]


def _changed(rows: Iterable[models.Action]) -> list[str]:
    """Return a sentence about each time that a person made something else of just this; newest first."""
    return [_corrected(row) for row in rows][:3]


def _corrected(row: models.Action) -> str:
    last = models.Revision.objects.filter(action=row).select_related("author").order_by("number").last()
    who = last.author.display() if last is not None and last.author is not None else "Somebody"
    why = f": {last.reason}" if last is not None and last.reason else "."
    return f"{who} changed just this into something else in run {row.run_id}{why}"


def _rejected(row: models.Action) -> str:
    last = (
        models.Decision.objects.filter(review__action=row, verdict="reject")
        .select_related("person")
        .order_by("pk")
        .last()
    )
    if last is None:
        return f"Just this was rejected in run {row.run_id}."
    return f"{last.person.display()} rejected just this in run {row.run_id}: {last.reason}"


def _alike(run: models.Run, tool: Tool, identity: str) -> tuple[models.Occurrence, ...]:
    """Return what stands off the path and may be this: where identity isn't declared, or was declared otherwise."""
    if not run.path:
        return ()
    rows = models.Occurrence.objects.filter(
        root=run.root_id, tool=tool.name, state=lifecycle.Occurrence.STANDING
    ).exclude(identity_digest=identity)
    if has_identity(tool):
        rows = rows.exclude(declaration=tool.declaration())
    return tuple(paths.off(run.path, run.pk, list(rows.select_related("owner").order_by("-pk"))))


def _said(run: models.Run, tool: Tool, alike: tuple[models.Occurrence, ...], identity: str) -> Iterable[str]:
    if alike:
        what = "was done" if len(alike) == 1 else f"was done {len(alike)} times"
        why = (
            "and what makes it the same was declared otherwise then"
            if has_identity(tool)
            else "and nothing declares what makes it the same"
        )
        yield f"It {what} by an earlier attempt, {why}; it may be this one."
    if not run.path:
        return
    standing = models.Occurrence.objects.filter(
        root=run.root_id, tool=tool.name, identity_digest=identity, state=lifecycle.Occurrence.STANDING
    )
    if paths.off(run.path, run.pk, list(standing)):
        yield "The same was done by an earlier attempt."


def has_identity(tool: Tool) -> bool:
    """Return whether the tool's author said what makes two calls the same."""
    return tool.identity is not None or type(tool).identity_of is not Tool.identity_of
