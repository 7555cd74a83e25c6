"""Branching a run off another's checkpoint: the cut is found, the new run's row and first lines are written.

Nothing is copied and nothing is folded here, however long the path is: the engine builds the new run's projections in
its first move.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from runs import exact, lifecycle, models
from runs.models import paths
from runs.transitions import clock_time, indexing, log, pins, retention, starts
from runs.transitions.refusals import Invalid


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A checkpoint as the beginning of another run: who holds its line, and the path that leads up to it."""

    holder: models.Run
    line: models.Entry
    path: list[list[int]]


def find(run: models.Run, checkpoint: int, *, live: bool = True) -> Cut:
    """Return the cut at a checkpoint of this run's path.

    Refuses (Invalid) a number that isn't there, a path longer than the limit, and a checkpoint of a dry run after a
    simulated result: nothing live may rest on what never happened. Refuses (Stale) a lineage that is sealed.
    """
    retention.refuse_sealed(run)
    line = paths.checkpoints(run).filter(number=checkpoint).select_related("run").first()
    if line is None:
        raise Invalid(f"Run {run.pk} has no checkpoint {checkpoint}; its newest is {run.checkpoint_number}.")
    path = paths.to(run, line)
    if len(path) > paths.MAX_LENGTH:
        raise Invalid(
            f"This lineage has branched {paths.MAX_LENGTH} times on the way here; start separate work instead."
        )
    if live:
        _refuse_simulated(path)
    return Cut(holder=line.run, line=line, path=path)


def _refuse_simulated(path: list[list[int]]) -> None:
    lasts = {ancestor: last for ancestor, last in path}  # noqa: C416 a path holds lists, not tuples
    for dry in models.Run.objects.filter(pk__in=lasts, mode=models.Run.Mode.DRY_RUN):
        last = lasts[dry.pk]
        results = models.Entry.objects.filter(
            run=dry, kind=lifecycle.EntryKind.RESULT, position__lte=last
        ).order_by("position")
        if any(line.content["status"] == lifecycle.Action.SIMULATED for line in results.iterator(500)):
            raise Invalid(
                f"Run {dry.pk} only simulated what came before that checkpoint; take over from where it began."
            )


def branch(
    cut: Cut,
    *,
    root: int | None,
    mode: str,
    code: str,
    title: str,
    user: models.User,
    token: str,
    reason: str,
    input: Mapping[str, Any] | None,
    content: Mapping[str, Any],
    number: int,
    version: models.AgentVersion | None = None,
    budget: Mapping[str, Any] | None = None,
) -> models.Run:
    """Return the new run `number`, queued, with its first lines: where it comes from, and the corrected input.

    Positions, checkpoint numbers and plan versions go on from the cut, and so does the chain of its log. Counters are
    what was spent on the path. Without a `root` it is the root of a lineage of its own. `version` and `budget` take
    the place of the source's.
    """
    source, line = cut.holder, cut.line
    assert line.number is not None
    bound = version or source.agent_version
    given = source.input if input is None else input
    run = models.Run(
        pk=number,
        root_id=root or number,
        agent_version_id=bound.pk,
        pins=pins.now(bound.provider, bound.tools),
        title=_title(title or source.title, source.input, given),
        input=given,
        input_digest=exact.digest_of(given),
        labels=source.labels,
        mode=mode,
        path=cut.path,
        begun=False,
        status=lifecycle.Run.QUEUED,
        reason=code,
        wake_at=clock_time.now() - datetime.timedelta(milliseconds=1),
        priority=source.priority,
        start_token=token,
        budget=source.budget if budget is None else dict(budget),
        created_by=user,
        position=line.position,
        head=line.head,
        checkpoint_number=line.number,
        checkpoint_position=line.position,
        plan_version=planned(cut),
        waivers=content.get("waivers", {}),
        **log.counted(line.counters),
    )
    run.save(force_insert=True)
    indexing.run(run, bound.agent)
    lines = log.Log(run)
    lines.append(
        lifecycle.EntryKind.NOTE,
        {
            **content,
            "code": code,
            "by": user.get_username(),
            "reason": reason,
            "from": [line.run_id, line.number],
            "reopened": True,
            "pins": run.pins_id,
        },
        boundary=lifecycle.Boundary.CREATED if input is None else None,
    )
    if input is not None:
        lines.append(
            lifecycle.EntryKind.CORRECTION,
            {"input": run.input, "before": source.input_digest, "by": user.get_username()},
            boundary=lifecycle.Boundary.EDITED,
        )
    lines.flush()
    run.save(update_fields=["position", "head", "checkpoint_number", "checkpoint_position"])
    return run


def _title(title: str, old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return the run's title with the name of the file that it works on now."""
    for name, value in new.items():
        before = old.get(name)
        if (
            isinstance(value, Mapping)
            and isinstance(before, Mapping)
            and value.get("path")
            and before.get("path")
        ):
            title = title.replace(str(before["path"]), str(value["path"]))
    return title[:200]


def planned(cut: Cut) -> int:
    """Return the version of the plan at the cut, 0 where there is none yet."""
    versions = models.Plan.objects.filter(_before(cut)).order_by("-version")
    return versions.values_list("version", flat=True).first() or 0


def _before(cut: Cut) -> Q:
    found = Q()
    for ancestor, last in cut.path:
        found |= Q(run=ancestor, position__lte=last)
    return found


def next_number() -> int:
    """Return the id that the next run will have, so that others can point at it before it is there."""
    return starts.next_id()
