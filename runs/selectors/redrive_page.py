"""The page on which a person goes on from a checkpoint: where, with what corrected, and what stays done."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from runs import lifecycle, measures, models
from runs.models import paths
from runs.providers import registry as providers
from runs.selectors import (
    checkpoint_names,
    failures,
    page_models,
    redrive_calls,
    redrive_forecast,
    redrive_input,
    redrive_models,
    tools,
)

SHOWN = 200
KEEP = "keep"


def page(
    run: models.Run, number: int | None, given: Mapping[str, Any], *, errors: Mapping[str, str] | None = None
) -> redrive_models.RedrivePage:
    """Return the page for one checkpoint, with what was typed (`given`) kept.

    If none is named it is the last good one of a failed run; of another the one before the input was first used, since
    that may be corrected here; else the newest.
    """
    used = redrive_input.first_use(run) if run.agent_version.input_schema.get("properties") else None
    failed = run.status == lifecycle.Run.FAILED
    before_use, good = redrive_input.before(run, used), redrive_forecast.last_good(run) if failed else None
    wanted = (good if failed else before_use) if number is None else number
    rows = list(paths.checkpoints(run).order_by("-number")[:SHOWN])
    if wanted is not None and wanted not in {row.number for row in rows}:
        rows += paths.checkpoints(run).filter(number=wanted)
    line = next((row for row in rows if row.number == wanted), rows[0])
    source = models.Run.objects.get(pk=line.run_id)
    current = paths.current(run.root_id).first() or run
    path = paths.to(run, line)
    left = paths.left_behind(run.root_id, path)
    asked = redrive_forecast.reviews_of(left)
    newest = rows[0].number or 0
    named = checkpoint_names.of(rows)
    return redrive_models.RedrivePage(
        run_id=run.pk,
        title=run.title,
        current_id=current.pk,
        goes_on=current.ended_at is None,
        choices=tuple(
            redrive_models.Choice(
                number=row.number or 0,
                words=named[row.pk],
                at=row.created_at,
                chosen=row.pk == line.pk,
            )
            for row in rows
        ),
        chosen=line.number or 0,
        fields=_fields(run, source, given),
        keeps=redrive_input.made_of_it(run, after=used, until=line.position) if used is not None else (),
        left=tuple(replace(_left(row, given), review_id=asked.get(row.pk)) for row in left),
        reason=str(given.get("reason", "")),
        token=str(given.get("token") or secrets.token_urlsafe(24)),
        errors=dict(errors or {}),
        why=run.error if failed else "",
        where=redrive_forecast.failed_step(run),
        advice=_advice(
            line.number or 0,
            (good or newest, _why_good(run) if good else "The newest"),
            (before_use, "To correct the input: before it was first used"),
        ),
        calls=redrive_calls.open_at(run, path, given),
        forecast=redrive_forecast.forecast(run, line, left),
        raises=_raises(run, given),
        instructions=None
        if providers.follows_plan(source.agent_version.provider)
        else str(given.get("instructions", source.agent_version.instructions)),
        old_instructions=source.agent_version.instructions,
        planned=paths.plans(run).filter(position__lte=line.position).exists(),
        hold="plan" in given,
        unsettled=any(row.state != lifecycle.Occurrence.STANDING for row in left),
    )


def _why_good(run: models.Run) -> str:
    if failures.taken_back(run):
        return "Last good: before the first step that was taken back"
    return "Last good: before the step that failed"


def _advice(chosen: int, *found: tuple[int | None, str]) -> tuple[redrive_models.Advice, ...]:
    """Return the checkpoints that are likely meant, each once."""
    numbers: dict[int, str] = {}
    for number, why in found:
        if number is not None:
            numbers.setdefault(number, why)
    return tuple(
        redrive_models.Advice(number=number, words=why, chosen=number == chosen)
        for number, why in numbers.items()
    )


def _raises(run: models.Run, given: Mapping[str, Any]) -> tuple[redrive_models.Raise, ...]:
    """Return the limits of the lineage, each to be raised by so much."""
    rows = sorted(
        models.Account.objects.filter(root=run.root_id), key=lambda row: measures.place(row.measure)
    )
    return tuple(
        redrive_models.Raise(
            name=f"raise.{row.measure}",
            label=f"More {measures.noun(row.measure)}",
            sentence=f"All attempts together have used {measures.amount(row.measure, row.spent)} of "
            f"{measures.amount(row.measure, row.limit)}.",
            value=str(given.get(f"raise.{row.measure}", "")),
        )
        for row in rows
    )


def separate(
    run: models.Run,
    number: int | None,
    given: Mapping[str, Any],
    earlier: Iterable[models.Occurrence],
    *,
    errors: Mapping[str, str] | None = None,
) -> redrive_models.RedrivePage:
    """Return the page for separate work: as for going on, but with all that was done before, which it won't know."""
    found = page(run, number, given, errors=errors)
    return replace(found, left=tuple(_left(row, given) for row in earlier))


def calls_at(run: models.Run, number: int | None) -> tuple[redrive_models.OpenCall, ...]:
    """Return the calls that are open at a checkpoint, as the form shows them before anything is typed."""
    line = None if number is None else paths.checkpoints(run).filter(number=number).first()
    return () if line is None else redrive_calls.open_at(run, paths.to(run, line), {})


def input_at(run: models.Run, number: int) -> dict[str, Any]:
    """Return the input that counts at a checkpoint."""
    return paths.input_at(run, number)


def _fields(
    run: models.Run, source: models.Run, given: Mapping[str, Any]
) -> tuple[page_models.InputField, ...]:
    """Return the inputs with their present values; a file stays unless another is chosen."""
    properties: Mapping[str, Any] = run.agent_version.input_schema.get("properties", {})
    found = []
    for name, spec in sorted(properties.items()):
        value = source.input.get(name)
        is_file = spec.get("format") == "file"
        kept = str(value.get("path", "")) if is_file and isinstance(value, Mapping) else ""
        shown = "" if is_file else str(given.get(f"input.{name}", "" if value is None else value))
        kind = "file" if is_file else "date" if spec.get("format") == "date" else "text"
        found.append(
            page_models.InputField(
                name=f"input.{name}",
                label=str(spec.get("title") or tools.label(name)),
                hint=f"Stays {kept} unless you choose another."
                if kept
                else str(spec.get("description") or ""),
                kind="area" if kind == "text" and "\n" in shown else kind,  # one line would lose the breaks
                value=shown,
                required=False,
            )
        )
    return tuple(found)


def _left(row: models.Occurrence, given: Mapping[str, Any]) -> redrive_models.Left:
    shown = row.owner.preview or {}
    return redrive_models.Left(
        occurrence_id=row.pk,
        what=str(shown.get("summary") or tools.title(row.tool)),
        state=row.state,
        at=row.settled_at or row.created_at,
        run_id=row.owner.run_id,
        settled=row.state == "standing",
        choices=_dispositions(row),
        chosen=str(given.get(f"effect.{row.pk}") or KEEP),
    )


def _dispositions(row: models.Occurrence) -> tuple[tuple[str, str], ...]:
    """Return what may become of an earlier effect; what took something back itself just stays."""
    if row.state != "standing" or row.owner.undo_of_id is not None:
        return ()
    undo = (("undo_first", "Take it back first"),) if tools.undoes(row.tool) and row.first_sent_at else ()
    return (KEEP, "Stays done"), ("again", "May happen once more, after a review"), *undo
