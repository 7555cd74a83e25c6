"""Going on with many failed runs of one cause: what would become of each, and what became of it."""

from __future__ import annotations

import secrets
from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from django.db.models import Count, Exists, Max, OuterRef, Subquery

from runs import lifecycle, models
from runs.models import paths, scopes
from runs.selectors import deciding, failure_causes, words

AT_ONCE = 25
"""So many runs go on with one form; the others are on the page that comes after it."""


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one run: the new attempt, or why there is none."""

    made: int | None = None
    refusal: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    run_id: int
    title: str
    agent: str
    error: str
    checkpoint: int
    boundary: str
    kept: int  # effects that stand and are not done again
    blocked: str  # why it is left out
    token: str
    ticked: bool
    outcome: Outcome | None = None


@dataclass(frozen=True, kw_only=True)
class BulkPage:
    causes: tuple[failure_causes.Cause, ...]  # to choose from, where none is chosen
    key: str
    words: str
    rows: tuple[Row, ...]
    more: int  # of the cause, not on this page
    able: int
    reason: str
    made: int = 0
    refused: int = 0
    reported: bool = False
    errors: dict[str, str] = field(default_factory=dict)


def page(
    viewer: deciding.Viewer,
    key: str,
    *,
    reason: str = "",
    ticked: Collection[int] | None = None,
    tokens: Mapping[int, str] | None = None,
    outcomes: Mapping[int, Outcome] | None = None,
    errors: Mapping[str, str] | None = None,
) -> BulkPage:
    """Return the failed runs of a cause; after the form was sent, those that it named with what became of each."""
    known = failure_causes.by_cause(viewer)
    chosen = next((cause for cause in known if cause.key == key), None)
    open_ones = chosen.runs if chosen is not None else ()
    shown = tuple(outcomes) if outcomes else open_ones[:AT_ONCE]
    rows = _rows(viewer, shown, ticked, tokens or {}, outcomes or {})
    results = [row.outcome for row in rows if row.outcome is not None]
    return BulkPage(
        causes=known if chosen is None and not outcomes else (),
        key=key,
        words=chosen.words if chosen is not None else "",
        rows=rows,
        more=len([run for run in open_ones if run not in shown]),
        able=sum(not row.blocked for row in rows),
        reason=reason,
        made=sum(one.made is not None for one in results),
        refused=sum(one.made is None for one in results),
        reported=bool(outcomes),
        errors=dict(errors or {}),
    )


def _rows(
    viewer: deciding.Viewer,
    ids: Collection[int],
    ticked: Collection[int] | None,
    tokens: Mapping[int, str],
    outcomes: Mapping[int, Outcome],
) -> tuple[Row, ...]:
    failed = (
        models.PlanStep.objects.filter(run=OuterRef("pk"), state=lifecycle.Step.FAILED)
        .order_by()
        .values("run")
        .annotate(at=Max("result_position"))
        .values("at")
    )
    contradicted = models.Review.objects.filter(
        run=OuterRef("pk"), kind=lifecycle.ReviewKind.FAILURE, status=lifecycle.Review.OPEN
    ).exclude(title__startswith="Failed:")
    runs = models.Run.objects.filter(scopes.seen(viewer.user), pk__in=ids)
    runs = runs.select_related("agent_version__agent", "root")
    runs = runs.annotate(failed_at=Subquery(failed), contradicted=Exists(contradicted))
    good = models.Entry.objects.filter(
        run=OuterRef("pk"), number__isnull=False, position__lt=OuterRef("failed_at")
    ).order_by("-position")
    runs = runs.annotate(
        good=Subquery(good.values("number")[:1]), good_boundary=Subquery(good.values("boundary")[:1])
    )
    found = list(runs.order_by("-pk"))
    states: dict[int, dict[str, int]] = defaultdict(dict)
    counts = models.Occurrence.objects.filter(root__in=[run.root_id for run in found]).order_by()
    for root, state, count in counts.values_list("root", "state").annotate(n=Count("pk")):
        states[root][state] = count
    return tuple(_row(run, states[run.root_id], ticked, tokens, outcomes.get(run.pk)) for run in found)


def _row(
    run: models.Run,
    states: Mapping[str, int],
    ticked: Collection[int] | None,
    tokens: Mapping[int, str],
    outcome: Outcome | None,
) -> Row:
    good, boundary = getattr(run, "good", None), getattr(run, "good_boundary", None)
    blocked = "" if outcome is not None else _blocked(run, states)
    agent = run.agent_version.agent
    return Row(
        run_id=run.pk,
        title=run.title,
        agent=agent.title or agent.name,
        error=run.error,
        checkpoint=good or run.checkpoint_number,
        boundary=words.BOUNDARIES.get(boundary or "", "") if good else "the newest",
        kept=states.get(lifecycle.Occurrence.STANDING, 0),
        blocked=blocked,
        token=tokens.get(run.pk) or secrets.token_urlsafe(24),
        ticked=not blocked and (ticked is None or run.pk in ticked),
        outcome=outcome,
    )


def _blocked(run: models.Run, states: Mapping[str, int]) -> str:
    """Return what a person has to do first, or why nothing goes on from this run, or nothing."""
    open_ones = states.get(lifecycle.Occurrence.OPEN, 0) + states.get(lifecycle.Occurrence.UNKNOWN, 0)
    if open_ones:
        return "It isn't known whether something of it happened; somebody has to find that out first."
    if getattr(run, "contradicted", False):
        return "Something of it may have happened twice or not at all; somebody has to say so first."
    if run.root.sealed_at is not None:
        return "Its record is sealed."
    if len(run.path) >= paths.MAX_LENGTH:
        return "It has been tried too often; begin separate work instead."
    return ""
