"""The list of runs, newest first."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.db.models import (
    BooleanField,
    Count,
    ExpressionWrapper,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    TextField,
)
from django.db.models.functions import Cast, Coalesce

from runs import labelling, lifecycle, models, rights
from runs.models import scopes
from runs.selectors import (
    counting,
    deciding,
    failure_causes,
    filters,
    keyset,
    now,
    page_models,
    queue,
    switched,
    tools,
    words,
)

SIZE = 50
SENTENCE = 160
CAUSES = 8
FILTERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "running": ("Running", (lifecycle.Run.QUEUED, lifecycle.Run.RUNNING)),
    "waiting": ("Waiting for a person", (lifecycle.Run.WAITING,)),
    "paused": ("Paused", (lifecycle.Run.PAUSED,)),
    "failed": ("Failed", (lifecycle.Run.FAILED,)),
    "done": ("Done", (lifecycle.Run.SUCCEEDED,)),
    "stopped": ("Stopped", (lifecycle.Run.CANCELLED,)),
}
COUNTED = ("running", "waiting", "paused", "failed")
"""Only what is still somebody's business is counted, up to some: the rest grows for ever."""


def page(
    params: Mapping[str, str], viewer: deciding.Viewer, *, start: page_models.StartForm | None
) -> page_models.RunsPage:
    """Return one page of the runs that `params` asks for."""
    only = params.get("only", "") if params.get("only") in FILTERS else ""
    rows = models.Run.objects.select_related(
        "agent_version__agent", "created_by", "hold_by", "stop_by"
    ).defer("input", "path", "agent_version__definition", "agent_version__input_schema",
            "agent_version__tools", "agent_version__instructions")  # fmt: skip
    rows = rows.filter(scopes.seen(viewer.user))
    typed = filters.typed(params.get("q", ""))
    if typed:
        rows = rows.filter(filters.runs_found(typed))
    label = filters.typed(params.get("label", ""))
    if label:
        rows = filters.labelled(rows, label)
    if only:
        rows = rows.filter(status__in=FILTERS[only][1])
    causes = failure_causes.by_cause(viewer) if only == "failed" else ()
    cause = next((one for one in causes if one.key == params.get("cause", "")), None)
    if cause is not None:
        rows = rows.filter(pk__in=cause.runs)
    steps = models.PlanStep.objects.filter(run=OuterRef("pk")).order_by().values("run")
    entries = models.Entry.objects.filter(run=OuterRef("pk"), position=OuterRef("position"))
    earlier = models.Run.objects.filter(
        root=OuterRef("root"), pk__lte=OuterRef("pk"), mode=models.Run.Mode.LIVE
    )
    counted = earlier.order_by().values("root").annotate(n=Count("pk")).values("n")
    rows = rows.annotate(
        now=now.ClockNow(),
        steps_total=Coalesce(Subquery(steps.annotate(n=Count("pk")).values("n")), 0),
        steps_done=_steps_in(steps, lifecycle.STEP_BEHIND),
        steps_not_done=_steps_in(steps, lifecycle.STEP_NOT_DONE),
        changed_at=Subquery(entries.values("created_at")[:1]),
        attempt=Coalesce(Subquery(counted), 0),
        takes_back=_takes_back("pk"),
        taken_back=_takes_back("superseded_by"),
    )
    keep = _said(only=only, cause=cause.key if cause is not None else "", q=typed, label=label)
    found, paging = keyset.page(rows, by=("id",), params=params, size=SIZE, keep=keep, searched=bool(typed))
    asked: dict[int, list[words.Asked]] = defaultdict(list)
    open_ones = queue.open_reviews().filter(run__in=[row.pk for row in found])
    for run_id, kind, since in open_ones.values_list("run_id", "kind", "opened_at"):
        asked[run_id].append(words.Asked(kind, since))
    switches = models.Installation.objects.values_list("switches", flat=True).get(pk=1)
    return page_models.RunsPage(
        filters=_filters(viewer, only, _said(q=typed, label=label)),
        rows=tuple(_row(row, asked[row.pk], switches) for row in found),
        page=paging,
        filtered=bool(only or typed or label),
        q=typed,
        around=tuple(_said(only=only, label=label).items()),
        start=start,
        causes=_causes(causes, cause),
        cause=cause.words if cause is not None else "",
        labelled=page_models.Choice(label=label, query=urlencode(_said(only=only, q=typed)), current=True)
        if label
        else None,
        many=cause.key if cause is not None and viewer.may(rights.Act.REDRIVE) else "",
    )


def _causes(
    known: tuple[failure_causes.Cause, ...], chosen: failure_causes.Cause | None
) -> tuple[page_models.Choice, ...]:
    """Return the most frequent causes, the chosen one among them; again chosen it is let go."""
    shown = [cause for cause in known[:CAUSES] if cause != chosen]
    return tuple(
        page_models.Choice(
            label=tools.short(cause.words, 80),
            query="only=failed" if cause == chosen else f"only=failed&cause={cause.key}",
            current=cause == chosen,
            count=len(cause.runs),
        )
        for cause in ([chosen] if chosen is not None else []) + shown
    )


def _steps_in(steps: QuerySet[models.PlanStep, Any], states: frozenset[lifecycle.Step]) -> Coalesce:
    return Coalesce(Subquery(steps.filter(state__in=states).annotate(n=Count("pk")).values("n")), 0)


def _filters(viewer: deciding.Viewer, only: str, around: Mapping[str, str]) -> tuple[page_models.Choice, ...]:
    rows = models.Run.objects.filter(scopes.seen(viewer.user))
    asked = {
        f"in_{name}": counting.Counted.upto(rows.filter(status__in=FILTERS[name][1])) for name in COUNTED
    }
    found = models.Installation.objects.annotate(**asked).values_list(*asked).get(pk=1)
    counts: dict[str, int] = dict(zip(COUNTED, found, strict=True))
    return (
        page_models.Choice(label="All", query=urlencode(around), current=not only),
        *(
            page_models.Choice(
                label=label,
                query=urlencode({"only": name, **around}),
                current=only == name,
                count=counts.get(name),
            )
            for name, (label, _) in FILTERS.items()
            if name != "paused" or counts["paused"] or only == "paused"
        ),
    )


def _said(**params: str) -> dict[str, str]:
    """Return the parameters of an address that say something."""
    return {name: value for name, value in params.items() if value}


def _row(run: Any, asked: list[words.Asked], switches: switched.Switches) -> page_models.RunRow:
    agent = run.agent_version.agent
    held_up = switched.held_up(switches, agent.name)
    return page_models.RunRow(
        run_id=run.pk,
        title=run.title,
        status=words.standing(run),
        reason=tools.short(words.sentence(run, asked, now=run.now, held_up=held_up), SENTENCE),
        agent=agent.title or agent.name,
        started_by=run.created_by.display(),
        created_at=run.created_at,
        changed_at=run.changed_at or run.created_at,
        steps_done=run.steps_done,
        steps_not_done=run.steps_not_done,
        steps_total=run.steps_total,
        cost=now.dollars(run.cost_micro, known=run.cost_known),
        open_reviews=len(asked),
        last_checkpoint=run.checkpoint_number or None,
        dry_run=run.mode == models.Run.Mode.DRY_RUN,
        replaced_by=None if run.taken_back else run.superseded_by_id,
        attempt=_attempt(run),
        labels=labelling.written(run.labels),
    )


def _attempt(run: Any) -> str:
    """Return which attempt of the first run it is; nothing for the first, a dry run, and what only takes back."""
    if run.root_id == run.pk or run.mode == models.Run.Mode.DRY_RUN:
        return ""
    return (
        f"takes back, of run {run.root_id}"
        if run.takes_back
        else f"attempt {run.attempt} of run {run.root_id}"
    )


def _takes_back(run: str) -> Subquery:
    """Return whether the run of this name was made for nothing but an undo: its first line says so.

    Of this one line, not whether there is such a run: that the server would find out for all runs at once.
    """
    lines = models.Entry.objects.filter(run=OuterRef(run)).order_by("position")
    said = ExpressionWrapper(Q(text__contains='"code":"undoing"'), BooleanField())
    return Subquery(lines.alias(text=Cast("content", TextField())).annotate(said=said).values("said")[:1])
