"""The checkpoints of a run's path as a list, and one of them with the state as it was."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from django.db.models import TextField
from django.db.models.functions import Cast, Length

from runs import exact, lifecycle, models, rights, state
from runs.models import cuts, paths
from runs.selectors import (
    checkpoint_names,
    deciding,
    documents,
    inspect_models,
    keyset,
    now,
    past,
    run_header,
    run_log,
    run_models,
    run_words,
    tools,
)

SIZE = 60  # as many rows as 1,500 nodes hold
STEPS = 100
RESULTS = 20
BEFORE_OPEN = 10


def page(
    run: models.Run, viewer: deciding.Viewer, params: Mapping[str, str]
) -> inspect_models.CheckpointsPage:
    """Return one page of the path's checkpoints, newest first."""
    rows, paging = keyset.page(
        paths.checkpoints(run).defer("content"),
        by=("position",),
        params=params,
        size=SIZE,
        total=run.checkpoint_number,
    )
    named = checkpoint_names.of(rows)
    return inspect_models.CheckpointsPage(
        header=run_header.header(run, viewer, tab="run-checkpoints"),
        rows=tuple(_row(row, named[row.pk]) for row in rows),
        page=paging,
    )


def _row(row: models.Entry, named: str) -> inspect_models.CheckpointRow:
    used = past.counted(row.counters)
    return inspect_models.CheckpointRow(
        number=row.number or 0,
        words=named,
        position=row.position,
        at=row.created_at,
        holder=row.run_id,
        turns=used.steps,
        calls=used.calls,
        cost=now.dollars(used.cost_micro, known=used.cost_known),
        digest=row.head,
    )


def one(cut: cuts.Cut, viewer: deciding.Viewer) -> inspect_models.CheckpointPage:
    """Return one checkpoint with the state as it was."""
    was = past.at(cut)
    around = paths.checkpoints(cut.run).values_list("number", flat=True)
    line = models.Entry.objects.annotate(size=Length(Cast("content", TextField()))).defer("content")
    stored: Any = line.get(pk=cut.line.pk)
    before = cuts.lines(cut.path).filter(position=cut.position - 1).values_list("head", flat=True).first()
    titles = {step.id: step.title for step in was.plan}
    results = _results(cut, viewer)
    effects = documents.effects(cut)
    return inspect_models.CheckpointPage(
        run_id=cut.run.pk,
        run_title=cut.run.title,
        number=cut.number,
        words=checkpoint_names.of([cut.line])[cut.line.pk],
        at=cut.line.created_at,
        position=cut.position,
        holder=cut.holder,
        kind=cut.line.kind,
        size=stored.size,
        digest=cut.line.head,
        parent=around.filter(position__lt=cut.position).order_by("-position").first(),
        parent_digest=before or "",
        next=around.filter(position__gt=cut.position).order_by("position").first(),
        newest=cut.run.checkpoint_number,
        turns=was.counters.steps,
        calls=was.counters.calls,
        tokens=was.counters.tokens_in + was.counters.tokens_out,
        cost=now.dollars(was.counters.cost_micro, known=was.counters.cost_known),
        input=exact.canonical(dict(was.input), limit=None),
        plan_version=was.plan_version,
        **_plan(was.plan),
        open=tuple(_open(call, was.tail, titles) for call in was.tail.open() if not call.is_control),
        results=results[:RESULTS],
        earlier=f"after={results[RESULTS].position + 1}" if len(results) > RESULTS else "",
        effects=tuple(
            inspect_models.Outcome(
                title=documents.what(row), text="", state=row.state, run_id=row.owner.run_id, key=row.key
            )
            for row in effects
        ),
        through=tuple(run for run, _ in cut.path[:-1]),
        whole=was.tail.whole,
        may_redrive=viewer.may(rights.Act.REDRIVE),
    )


def _plan(steps: tuple[state.PlanStep, ...]) -> dict[str, Any]:
    """Return the steps from a little before the first that isn't behind, and how many there are of each state."""
    first = next(
        (index for index, step in enumerate(steps) if step.state not in lifecycle.STEP_CLOSED), len(steps)
    )
    start = max(0, min(first - BEFORE_OPEN, len(steps) - STEPS))
    shown = tuple(
        run_models.PlanStep(
            number=index + 1,
            title=step.title,
            state=step.state,
            tool=tools.title(str(step.body.get("tool") or "")) if step.body.get("tool") else "",
        )
        for index, step in enumerate(steps[start : start + STEPS], start)
    )
    counts = Counter(step.state for step in steps)
    order = [name.value for name in lifecycle.Step]
    return {
        "plan": shown,
        "plan_more": len(steps) - len(shown),
        "plan_counts": tuple((name, counts[name]) for name in order if counts[name]),
    }


def _open(call: state.CallState, tail: past.Calls, titles: Mapping[str, str]) -> inspect_models.OpenCall:
    return inspect_models.OpenCall(
        title=titles.get(call.step or "", "") or tools.title(call.tool),
        tool=call.tool,
        tier=call.tier,
        status=call.status,
        arguments=exact.canonical(tail.arguments.get(call.id), limit=None),
        sent=len(call.attempts),
    )


def _results(cut: cuts.Cut, viewer: deciding.Viewer) -> tuple[inspect_models.Outcome, ...]:
    """Return the newest results of the run that holds the checkpoint, one more than is shown."""
    holder = (
        cut.run
        if cut.holder == cut.run.pk
        else models.Run.objects.select_related("created_by").get(pk=cut.holder)
    )
    rows = models.Entry.objects.filter(
        run=holder, position__lte=cut.position, kind=lifecycle.EntryKind.RESULT
    ).order_by("-position")
    lines = [run_log.line(row) for row in run_log.cut(rows)[: RESULTS + 1]]
    names = run_log.names(holder, lines, viewer=viewer.user)
    said = [(line, run_words.said(line, names, agent="", starter="")) for line in lines]
    return tuple(
        inspect_models.Outcome(
            title=what.title,
            text=what.text if what.text != what.title else "",
            state=str(line.content.get("status") or ""),
            position=line.position,
            run_id=holder.pk,
        )
        for line, what in said
    )
