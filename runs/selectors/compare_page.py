"""Two attempts of a lineage, or runs of an agent, side by side: steps aligned, and what each did, cost and took."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Q

from runs import alignment, exact, lifecycle, models, rights, state
from runs.models import cuts, paths
from runs.selectors import compare_effects, deciding, inspect_models, now, past, take_over, tools, words

STEPS = 300
ATTEMPTS = 20
TEXT = 400


def page(a: models.Run | None, b: models.Run | None, viewer: deciding.Viewer) -> inspect_models.ComparePage:
    """Return the page for two attempts; with one, the choice of the other; with a dry run, the form to take it over."""
    if a is None or b is None:
        found = a or b
        return inspect_models.ComparePage(
            a=None if found is None else _attempt(found),
            choices=() if found is None else _choices(found, None),
        )
    common = cuts.shared(cuts.of(a), cuts.of(b))
    if not common and a.agent_version.agent_id != b.agent_version.agent_id:
        return inspect_models.ComparePage(
            error="These two runs have nothing in common, so nothing can be aligned."
        )
    ends = [_end(a), _end(b)]
    start = past.last_reply(ends[0], until=common) - 1 if common else 0
    left, right = (past.calls(end, after=start) for end in ends)
    known = compare_effects.actions((ends[0], left), (ends[1], right))
    shared = paths.checkpoints(a).filter(position__lte=common).order_by("-position").first()
    dry = next((run for run in (a, b) if common and run.mode == models.Run.Mode.DRY_RUN), None)
    return inspect_models.ComparePage(
        a=_attempt(a),
        b=_attempt(b),
        choices=_choices(a, b),
        shared=shared.number or 0 if shared is not None else 0,
        figures=_figures(a, b, past.counted(shared.counters if shared is not None else None)),
        rows=tuple(_rows(_cells(ends[0], left, known), _cells(ends[1], right, known))),
        whole=left.whole and right.whole and max(len(left.calls), len(right.calls)) <= STEPS,
        effects=tuple(compare_effects.pairs(ends[0], ends[1], left, right, known)),
        over=take_over.form(dry, {}) if dry is not None and viewer.may(rights.Act.REDRIVE) else None,
    )


def _end(run: models.Run) -> cuts.Cut:
    """Return the run's whole path as if it were cut at its newest line."""
    line = models.Entry(run_id=run.pk, position=run.position)
    path = tuple((int(ancestor), int(last)) for ancestor, last in cuts.of(run))
    return cuts.Cut(run=run, number=0, boundary="", line=line, path=path)


def _attempt(run: models.Run) -> inspect_models.Attempt:
    return inspect_models.Attempt(
        run_id=run.pk,
        title=run.title,
        status=run.status,
        dry_run=run.mode == models.Run.Mode.DRY_RUN,
        sentence=words.ended_well(run) if run.status == lifecycle.Run.SUCCEEDED else run.error,
        created_at=run.created_at,
        current=run.mode == models.Run.Mode.LIVE and run.superseded_by_id is None,
    )


def _choices(a: models.Run, b: models.Run | None) -> tuple[inspect_models.Group, ...]:
    rows = models.Run.objects.filter(Q(root=a.root_id) | Q(pk__in=[run for run, _ in a.path])).order_by("-pk")
    found = {run.pk: run for run in (*rows[:ATTEMPTS], a, *([] if b is None else [b]))}
    picks = [
        (
            run.pk,
            f"Run {run.pk}{', dry run' if run.mode == models.Run.Mode.DRY_RUN else ''}, "
            f"started {words.at_moment(run.created_at)}",
        )
        for run in sorted(found.values(), key=lambda run: -run.pk)
    ]
    second = b.pk if b is not None else next((number for number, _ in picks if number != a.pk), a.pk)
    return tuple(
        inspect_models.Group(
            label=label,
            picks=tuple(
                inspect_models.Pick(value=str(number), label=text, chosen=number == chosen)
                for number, text in picks
            ),
        )
        for label, chosen in (("This attempt", a.pk), ("With", second))
    )


@dataclass(frozen=True, kw_only=True)
class Keyed:
    """A step of one attempt, with what makes it the same step in another one."""

    cell: inspect_models.Cell
    step: object  # of the plan, a loop's row for instance; else what it reaches, else the tool
    effect: tuple[str, str] | None  # what it reaches, whichever step it is of
    does: str


def _cells(end: cuts.Cut, calls: past.Calls, known: compare_effects.Actions) -> list[Keyed]:
    titles = dict(
        models.PlanStep.objects.filter(run=end.run, key__in={call.step for call in calls.calls.values() if call.step})
        .values_list("key", "title")
    )  # fmt: skip
    found = []
    for call_id, call in sorted(calls.calls.items())[:STEPS]:
        if call.is_control:
            continue
        result = calls.results.get(call_id, {})
        text = str(result.get("text") or "")
        cell = inspect_models.Cell(
            title=titles.get(call.step or "", "") or tools.title(call.tool),
            status=call.status,
            text=tools.short(text, TEXT),
            position=call_id[0],
        )
        effect = compare_effects.effect(end, call_id, known)
        step = call.step or effect or call.tool
        found.append(Keyed(cell=cell, step=step, effect=effect, does=_does(call, calls)))
    return found


def _does(call: state.CallState, calls: past.Calls) -> str:
    """Return what tells one call of a step from another: its arguments and what came of it."""
    result = calls.results.get(call.id, {})
    return exact.digest_of(
        [calls.arguments.get(call.id), call.status, result.get("text"), result.get("value")]
    )


def _rows(left: Sequence[Keyed], right: Sequence[Keyed]) -> Iterator[inspect_models.StepRow]:
    """Yield the steps side by side; the first that isn't the same in both is marked."""
    parted = False
    pairs = alignment.pairs(
        [(one.step, one.effect) for one in left], [(one.step, one.effect) for one in right]
    )
    for i, j in pairs:
        one, other = None if i is None else left[i], None if j is None else right[j]
        kind = _kind(one, other)
        yield inspect_models.StepRow(
            kind=kind,
            a=one.cell if one else None,
            b=other.cell if other else None,
            first=kind != "same" and not parted,
        )
        parted = parted or kind != "same"


def _kind(one: Keyed | None, other: Keyed | None) -> str:
    if one is None or other is None:
        return "added" if one is None else "removed"
    return "same" if (one.step, one.does) == (other.step, other.does) else "changed"


def _figures(a: models.Run, b: models.Run, shared: state.Counters) -> tuple[inspect_models.Figure, ...]:
    """Return what each used since they parted, and how long it took."""

    def cost(run: models.Run) -> decimal.Decimal | None:
        return now.dollars(run.cost_micro - shared.cost_micro, known=run.cost_known)

    def tokens(run: models.Run) -> int:
        return run.tokens_in + run.tokens_out - shared.tokens_in - shared.tokens_out

    def took(run: models.Run) -> float | None:
        moment = run.ended_at or (datetime.datetime.now(tz=datetime.UTC) if run.begun else None)
        return None if moment is None else (moment - run.created_at).total_seconds()

    pairs: tuple[tuple[str, str, Any], ...] = (
        ("Turns", "count", lambda run: run.steps - shared.steps),
        ("Tool calls", "count", lambda run: run.calls - shared.calls),
        ("Tokens", "count", tokens),
        ("Cost", "money", cost),
        ("Time at work", "seconds", lambda run: run.active_seconds),
        ("From start to end", "seconds", took),
    )
    return tuple(
        inspect_models.Figure(label=label, unit=unit, a=of(a), b=of(b), differs=of(a) != of(b))
        for label, unit, of in pairs
    )
