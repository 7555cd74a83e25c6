"""What the lineage has to say about a call before it is asked about: done, refused, changed, or much like it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.db.models import Q

from runs import lifecycle, models
from runs.models import paths
from runs.tools.contract import Tool
from runs.transitions import steps
from runs.transitions.steps import alike

NOT_DONE = frozenset(
    {
        lifecycle.Action.DENIED,
        lifecycle.Action.SUPERSEDED,
        lifecycle.Action.EXPIRED,
        lifecycle.Action.FAILED,
        lifecycle.Action.SIMULATED,
    }
)
TRIED = frozenset({lifecycle.Action.FAILED, lifecycle.Action.SUPERSEDED})


@dataclass(frozen=True, kw_only=True)
class Past:
    """What was before. With a duplicate or a reason, policy alone may not allow the call.

    `failed` is the action that this one tries again, since a person said so.
    """

    duplicate: models.Action | None = None
    failed: models.Action | None = None
    reasons: tuple[str, ...] = ()

    @property
    def asks(self) -> bool:
        """Return whether a person has to decide, whatever policy says."""
        return self.duplicate is not None or bool(self.reasons)

    def duplicate_of(
        self, tool: str, identity: str, earlier: Iterable[steps.Proposed]
    ) -> tuple[int, int] | None:
        """Return the call on this path with the same identity: of an earlier reply, or (0, index) for a sibling."""
        for index, sibling in enumerate(earlier):
            if sibling.tool == tool and sibling.identity_digest == identity:
                return (0, index)
        row = self.duplicate
        return (row.reply_position, row.call_index) if row is not None else None

    def retried(self, step: str) -> int | None:
        """Return the action of the same step that is tried again."""
        return self.failed.pk if self.failed is not None and self.failed.step == step else None


def of(run: models.Run, tool: Tool, *, identity: str, but: int | None = None) -> Past:
    """Return what the lineage knows about calls with this identity, leaving out the action `but`."""
    if tool.risk() == 0:
        return Past()
    where = Q(run=run.pk)
    if run.path:  # a first attempt has nothing before it
        where |= Q(run__root=run.root_id) | Q(run__in=[ancestor for ancestor, _ in run.path])
    others = models.Action.objects.filter(where, tool=tool.name).exclude(pk=but or 0).order_by("-pk")
    rows = list(others.filter(identity_digest=identity))
    return Past(
        duplicate=next((row for row in rows if _done_here(run, row)), None),
        failed=_failed(run, rows),
        reasons=(
            *_refused(rows),
            *_changed(others.filter(proposed_identity=identity)),
            *_said(run, tool, identity),
        ),
    )


def _done_here(run: models.Run, row: models.Action) -> bool:
    """Return whether this action was not refused, and lies on the run's path."""
    here = (
        run.mode == models.Run.Mode.DRY_RUN and row.run_id == run.pk
    )  # what it tried out counts as done in it
    if row.status in NOT_DONE and not (here and row.status == lifecycle.Action.SIMULATED):
        return False
    return row.run_id == run.pk or paths.closed_on(run.path, row)


def _failed(run: models.Run, rows: Iterable[models.Action]) -> models.Action | None:
    """Return the newest of these that had failed, or was closed by the failure, when a person had it tried again."""
    left = [row for row in rows if row.run_id == run.pk and row.status in TRIED and row.closed_at is not None]
    if not left:
        return None
    retries = models.Fact.objects.filter(run=run, kind=models.Fact.Kind.RETRY).order_by("-number")
    said = retries.values_list("created_at", flat=True).first()
    return next((row for row in left if said is not None and row.closed_at and row.closed_at < said), None)


def _refused(rows: Iterable[models.Action]) -> list[str]:
    """Return a sentence about each time that people refused just this; newest first."""
    return [_rejected(row) for row in rows if row.status == lifecycle.Action.REJECTED][:3]


def _changed(rows: Iterable[models.Action]) -> list[str]:
    """Return a sentence about each time that a person made something else of just this; newest first."""
    return [_corrected(row) for row in rows][:3]


def _corrected(row: models.Action) -> str:
    last = models.Revision.objects.filter(action=row).select_related("author").order_by("number").last()
    if last is None:
        return f"A person took just this for what was done before, in run {row.run_id}."
    who = last.author.display() if last.author is not None else "Somebody"
    why = f": {last.reason}" if last.reason else "."
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


def _said(run: models.Run, tool: Tool, identity: str) -> Iterable[str]:
    others = alike.standing(run, tool, identity)
    if others:
        what = "was done" if len(others) == 1 else f"was done {len(others)} times"
        why = (
            "and what makes it the same was declared otherwise then"
            if alike.has_identity(tool)
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
