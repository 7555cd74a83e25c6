"""Branching a run off another's checkpoint: the cut is found, the new run's row and first lines are written.

Nothing is copied and nothing is folded here, however long the path is: the engine builds the new run's projections in
its first move.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from runs import exact, lifecycle, models
from runs.models import columns, paths, wire
from runs.transitions import clock_time, indexing, log, pins, retention, rows, starts
from runs.transitions.refusals import Invalid, Stale

_PLANNED = """
SELECT max(p.version) FROM unnest($1::bigint[], $2::bigint[]) c (run, last)
JOIN runs_plan p ON p.run_id = c.run AND p.position <= c.last
"""


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
    lasts = {int(ancestor): int(last) for ancestor, last in run.path} | {run.pk: run.position}
    runs, lines = _read(run, lasts, checkpoint)
    if runs[run.root_id].sealed_at is not None:
        raise Stale(retention.SEALED)
    line = next((line for line in lines if line.position <= lasts[line.run_id]), None)
    if line is None:
        raise Invalid(f"Run {run.pk} has no checkpoint {checkpoint}; its newest is {run.checkpoint_number}.")
    path = paths.to(run, line)
    if len(path) > paths.MAX_LENGTH:
        raise Invalid(
            f"This lineage has branched {paths.MAX_LENGTH} times on the way here; start separate work instead."
        )
    if live:
        _refuse_simulated(path, runs)
    return Cut(holder=runs[line.run_id], line=line, path=path)


def _read(
    run: models.Run, lasts: Mapping[int, int], checkpoint: int
) -> tuple[dict[int, models.Run], list[models.Entry]]:
    """Return the runs of the path and the root by number, and the path's lines that carry this checkpoint's number."""
    if not 0 < checkpoint < 2**31:  # no line carries such a number
        checkpoint = 0
    runs, lines = columns.together(
        columns.asked(models.Run, "id = ANY($1::bigint[])", [columns.numbers({*lasts, run.root_id})]),
        columns.asked(
            models.Entry,
            "run_id = ANY($1::bigint[]) AND number = $2::integer",
            [columns.numbers(lasts), columns.number(checkpoint)],
        ),
    )
    return {row.pk: row for row in runs}, lines


def _refuse_simulated(path: list[list[int]], runs: Mapping[int, models.Run]) -> None:
    for ancestor, last in path:
        dry = runs[ancestor]
        if dry.mode != models.Run.Mode.DRY_RUN:
            continue
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
    parent: models.Run | None = None,
    handed_by: models.Occurrence | None = None,
    returned: bool = False,
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
        parent=parent,
        handed_by=handed_by,
        returned=returned,
        position=line.position,
        head=line.head,
        checkpoint_number=line.number,
        checkpoint_position=line.position,
        plan_version=planned(cut),
        waivers=content.get("waivers", {}),
        **log.counted(line.counters),
    )
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
    columns.together(rows.adding(run), *columns.said([*lines.written(), indexing.words(run, bound.agent)]))
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
    ancestors, lasts = zip(*cut.path, strict=True)
    ((version,),) = wire.execute(_PLANNED, [columns.numbers(ancestors), columns.numbers(lasts)])
    return int(version or 0)


def next_number() -> int:
    """Return the id that the next run will have, so that others can point at it before it is there."""
    return starts.next_id()
