"""What stands above every tab of a run: how it stands, what waits, what it has used, what one may do."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Sequence

from django.db.models import Count, Q

from runs import labelling, lifecycle, measures, models, rights
from runs.models import paths
from runs.selectors import (
    budgets_page,
    deciding,
    failures,
    inbox_rows,
    now,
    page_models,
    queue,
    run_family,
    run_limits,
    run_log,
    run_models,
    run_retry,
    switched,
    tools,
    words,
)

TABS = (
    ("run", "Timeline"),
    ("run-plan", "Plan"),
    ("run-transcript", "Transcript"),
    ("run-checkpoints", "Checkpoints"),
    ("run-effects", "Effects"),
    ("run-usage", "Usage"),
)
REPORT = ("run-dry", "Report")
"""What a dry run is made for."""
WARN = 80
ASKS_SHOWN = 20
UNDONE_SHOWN = 3
NEAR = 80  # lines that the first page of the timeline surely has


def _broken_glass(run: models.Run) -> tuple[tuple[int, str, str], ...]:
    rows = (
        models.Review.objects.filter(run=run, alone_by__isnull=False)
        .select_related("alone_by")
        .order_by("pk")
    )
    return tuple((row.pk, row.title, row.alone_by.display()) for row in rows[:ASKS_SHOWN] if row.alone_by)


def header(run: models.Run, viewer: deciding.Viewer, *, tab: str) -> run_models.RunHeader:
    """Return the head of the run's pages, with `tab` as the current one."""
    asked = list(
        queue.open_reviews().filter(run=run).select_related("action").order_by(*queue.ORDER)[: ASKS_SHOWN + 1]
    )
    steps = models.PlanStep.objects.filter(run=run).aggregate(
        total=Count("pk"),
        done=Count("pk", filter=Q(state__in=lifecycle.STEP_BEHIND)),
        not_done=Count("pk", filter=Q(state__in=lifecycle.STEP_NOT_DONE)),
    )
    frame = models.Installation.objects.annotate(now=now.ClockNow()).values_list("switches", "now").get(pk=1)
    switches, moment = frame
    version = run.agent_version
    accounts = run_limits.accounts(run, moment)
    ended = run.status in lifecycle.RUN_ENDED
    family, other = run_family.of(run, viewer), _beside(run)
    return run_models.RunHeader(
        run_id=run.pk,
        title=run.title,
        agent=version.agent.title or version.agent.name,
        agent_name=version.agent.name,
        agent_version=version.number,
        status=run.status,
        standing=words.standing(run),
        sentence=waits(run)
        or words.sentence(
            run,
            [words.Asked(row.kind, row.opened_at) for row in asked],
            now=moment,
            held_up=switched.held_up(switches, version.agent.name),
        )
        + _taken_back(run),
        switches=() if ended else switched.sentences(switches, agent=version.agent, used=version.tools),
        error=run.error if run.status == lifecycle.Run.FAILED else "",
        trouble="" if ended else run.error,
        started_by=run.created_by.display(),
        created_at=run.created_at,
        ended_at=run.ended_at,
        dry_run=run.mode == models.Run.Mode.DRY_RUN,
        stop_asked=run.stop_at is not None and run.status not in lifecycle.RUN_ENDED,
        unusable=_unusable(run),
        controls=_controls(run, viewer),
        control_blocked=_control_blocked(run, viewer),
        reviews=tuple(
            run_models.OpenReview(
                review_id=row.pk,
                kind=row.kind,
                tier=row.tier,
                effect=inbox_rows.effect_of(row),
                since=row.opened_at,
            )
            for row in asked[:ASKS_SHOWN]
        ),
        meters=meters(run, moment, accounts),
        broken_glass=_broken_glass(run),
        nearly=run_limits.nearly(run, accounts),
        steps_done=steps["done"],
        steps_not_done=steps["not_done"],
        steps_total=steps["total"],
        tabs=tuple(
            page_models.Tab(name=name, label=label, count=None, current=name == tab, query="")
            for name, label in (*([REPORT] if run.mode == models.Run.Mode.DRY_RUN else []), *TABS)
        ),
        may_redrive=viewer.may(rights.Act.REDRIVE),
        retry=run_retry.of(asked, viewer),
        lineage=_lineage(run, other),
        parent=run.parent_id if any(one.run_id == run.parent_id for one in family) else None,
        family=family,
        beside=other,
        labels=labelling.written(run.labels),
        lost=_lost(run),
        last_good=failures.last_good(run) if run.status == lifecycle.Run.FAILED else None,
    )


def _beside(run: models.Run) -> int | None:
    """Return the attempt that this one goes on from, else the newest other one of the lineage."""
    if run.path:
        return int(run.path[-1][0])
    others = models.Run.objects.filter(root=run.root_id).exclude(pk=run.pk)
    return others.order_by("-pk").values_list("pk", flat=True).first()


def meters(
    run: models.Run, moment: datetime.datetime, accounts: Sequence[models.Account]
) -> tuple[run_models.Meter, ...]:
    """Return what was used of what may be used; lines without use and limit are left out.

    A limit holds for all attempts together, so what is reserved and left is that of their common account.
    """
    rests = {row.measure: run_limits.rest(row, run) for row in accounts if row.root_id is not None}
    active = run.active_seconds
    if run.status == lifecycle.Run.RUNNING and run.claimed_at is not None:
        active += max(0.0, (moment - run.claimed_at).total_seconds())
    budget = run.budget or {}
    lines = [
        _meter("Turns", "count", run.steps, budget.get("steps"), rests.get("steps", "")),
        _meter("Tool calls", "count", run.calls, budget.get("calls"), rests.get("calls", "")),
        _meter("Tokens", "count", run.tokens_in + run.tokens_out, budget.get("tokens"), rests.get("tokens", "")),
        _meter(
            "Cost",
            "money",
            now.dollars(run.cost_micro, known=run.cost_known),
            now.dollars(budget["cost_micro"], known=True) if "cost_micro" in budget else None,
            rests.get("cost_micro", ""),
        ),
        _meter("Time at work", "seconds", decimal.Decimal(round(active, 1)), budget.get("seconds"),
               rests.get("seconds", "")),
        *(
            _meter(budgets_page.label(row.measure), "count", run_limits.used(row, run), row.limit, rests[row.measure])
            for row in accounts
            if row.root_id is not None and measures.tool(row.measure)
        ),
    ]  # fmt: skip
    return tuple(line for line in lines if line.used or line.limit is not None or line.used is None)


def _meter(
    label: str,
    unit: str,
    used: decimal.Decimal | int | None,
    limit: decimal.Decimal | int | None,
    rest: str,
) -> run_models.Meter:
    percent = None
    if used is not None and limit:
        percent = min(100, int(100 * decimal.Decimal(used) / decimal.Decimal(limit)))
    return run_models.Meter(
        label=label,
        unit=unit,
        used=None if used is None else decimal.Decimal(used),
        limit=None if limit is None else decimal.Decimal(limit),
        percent=percent,
        warn=percent is not None and percent >= WARN,
        rest=rest,
    )


def _unusable(run: models.Run) -> run_models.Unusable | None:
    """Return what could not be used, while that can still change what a person decides."""
    if run.status in lifecycle.RUN_ENDED:
        return None
    position, rows = run_log.newest_unusable(run)
    if not rows:
        return None
    query = f"?before={position + 1}" if run.position - position >= NEAR else ""
    return run_models.Unusable(rows=rows, position=position, query=query)


def _controls(run: models.Run, viewer: deciding.Viewer) -> tuple[run_models.Control, ...]:
    if run.status in lifecycle.RUN_ENDED or run.stop_at is not None:
        return ()
    found = []
    if run.hold_by_id is not None:
        by_admin = run.hold_right == rights.ADMIN and rights.ADMIN not in viewer.roles
        if viewer.may(rights.Act.RESUME) and not by_admin:
            found.append(run_models.Control.RESUME)
    elif viewer.may(rights.Act.PAUSE):
        found.append(run_models.Control.PAUSE)
    if viewer.may(rights.Act.STOP):
        found.append(run_models.Control.STOP)
    return tuple(found)


def _control_blocked(run: models.Run, viewer: deciding.Viewer) -> str:
    if run.status in lifecycle.RUN_ENDED or run.stop_at is not None or viewer.may(rights.Act.STOP):
        return ""
    return "Operators and reviewers may pause and stop runs."


def waits(run: models.Run) -> str:
    """Return what a new attempt waits for before it can begin, or nothing."""
    if run.begun or run.status != lifecycle.Run.QUEUED or run.mode == models.Run.Mode.DRY_RUN:
        return ""
    old = models.Run.objects.filter(superseded_by=run).exclude(status__in=lifecycle.RUN_ENDED).first()
    if old is not None:
        return f"Starts as soon as run {old.pk}, whose place it takes, has ended."
    unknown = paths.unsettled_of(run.root_id).first()
    if unknown is not None:
        return f"Starts as soon as it is known whether this happened: {tools.title(unknown.tool)}."
    return ""


def _taken_back(run: models.Run) -> str:
    """Return what a run's end can't say, because it came after it: how much of what it did was taken back."""
    if run.status == lifecycle.Run.FAILED:
        back = failures.taken_back(run)
        return f" {'It took back what its plan marks for that' if back else 'What was done stays done'}."
    if run.status != lifecycle.Run.SUCCEEDED:
        return ""
    undone = models.Occurrence.objects.filter(
        root=run.root_id, owner__run=run, state=lifecycle.Occurrence.UNDONE
    )
    undos = models.Action.objects.filter(undo_of__in=undone, status=lifecycle.Action.SUCCEEDED)
    later = undos.exclude(run=run).order_by("pk").values_list("undo_of__owner__preview", "undo_of__tool")
    rows = later[: UNDONE_SHOWN + 1]
    found = [f"“{(shown or {}).get('summary') or tools.title(tool)}”" for shown, tool in rows]
    more = " and more" if len(found) > UNDONE_SHOWN else ""
    return f" Taken back afterwards: {', '.join(found[:UNDONE_SHOWN])}{more}." if found else ""


def _lineage(run: models.Run, other: int | None) -> run_models.Lineage | None:
    """Return what this attempt is to another one, which its words name; None where it stands alone."""
    said = ""
    if run.mode == models.Run.Mode.DRY_RUN:
        said = "Tried out beside run {}"
    elif run.superseded_by_id is not None:
        other = run.superseded_by_id
        said = (
            "Run {} takes something of it back"
            if _takes_back(other)
            else "A later attempt, run {}, took over"
        )
    elif run.root_id != run.pk:
        said = "Takes back one effect of run {}" if _takes_back(run.pk) else "A later attempt of run {}"
    elif run.path:
        said = "Separate work, begun from run {}"
    return run_models.Lineage(words=said.format(other), run_id=other) if said and other else None


def _lost(run: models.Run) -> tuple[str, ...]:
    """Return the steps for which the newest plans take back what was asked, until the engine has closed it."""
    if run.folded == run.inbox:
        return ()
    rows = models.Fact.objects.filter(run=run, kind=models.Fact.Kind.PLAN_EDIT, number__gt=run.folded)
    keys = {step for fact in rows.order_by("number") for _, _, step in fact.content["overtaken"]}
    titles = dict(
        models.PlanStep.objects.filter(run=run, key__in=keys).order_by("order").values_list("key", "title")
    )
    gone = len(keys - titles.keys())
    return (
        *titles.values(),
        *([f"{gone} step{'s' if gone > 1 else ''} no longer in the plan"] if gone else []),
    )


def _takes_back(run_id: int) -> bool:
    """Return whether this attempt was made for nothing but an undo."""
    first = models.Entry.objects.filter(run=run_id).order_by("position").first()
    return first is not None and first.content.get("code") == "undoing"
