"""The page on which a person goes on from a checkpoint: where, with what corrected, and what stays done."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from runs import models
from runs.models import paths
from runs.selectors import page_models, redrive_input, tools, words

SHOWN = 200
KEEP = "keep"


@dataclass(frozen=True, kw_only=True)
class Choice:
    """One checkpoint to go on from."""

    number: int
    words: str
    at: datetime.datetime
    chosen: bool


@dataclass(frozen=True, kw_only=True)
class Left:
    """An effect after the checkpoint: it stays done, unless it may happen once more."""

    occurrence_id: int
    what: str
    state: str
    at: datetime.datetime
    run_id: int
    settled: bool  # it is known to stand; else nothing can be chosen
    choices: tuple[tuple[str, str], ...]  # value and words of what may become of it
    chosen: str


@dataclass(frozen=True, kw_only=True)
class RedrivePage:
    run_id: int
    title: str
    current_id: int  # the attempt whose place is taken
    goes_on: bool  # that attempt hasn't ended, so it is stopped
    choices: tuple[Choice, ...]
    chosen: int
    fields: tuple[page_models.InputField, ...]
    keeps: tuple[str, ...]  # steps before the checkpoint whose results keep the old input
    left: tuple[Left, ...]
    reason: str
    token: str
    errors: dict[str, str] = field(default_factory=dict)


def page(
    run: models.Run, number: int | None, given: Mapping[str, Any], *, errors: Mapping[str, str] | None = None
) -> RedrivePage:
    """Return the page for one checkpoint, with what was typed (`given`) kept.

    If none is named it is the one before the input was first used, since that may be corrected here; without an input
    the newest.
    """
    used = redrive_input.first_use(run) if run.agent_version.input_schema.get("properties") else None
    wanted = redrive_input.before(run, used) if number is None else number
    rows = list(paths.checkpoints(run).order_by("-number")[:SHOWN])
    if wanted is not None and wanted not in {row.number for row in rows}:
        rows += paths.checkpoints(run).filter(number=wanted)
    line = next((row for row in rows if row.number == wanted), rows[0])
    source = models.Run.objects.get(pk=line.run_id)
    current = paths.current(run.root_id).first() or run
    left = paths.left_behind(run.root_id, paths.to(run, line))
    return RedrivePage(
        run_id=run.pk,
        title=run.title,
        current_id=current.pk,
        goes_on=current.ended_at is None,
        choices=tuple(
            Choice(
                number=row.number or 0,
                words=words.BOUNDARIES.get(row.boundary or "", row.boundary or ""),
                at=row.created_at,
                chosen=row.pk == line.pk,
            )
            for row in rows
        ),
        chosen=line.number or 0,
        fields=_fields(run, source, given),
        keeps=redrive_input.made_of_it(run, after=used, until=line.position) if used is not None else (),
        left=tuple(_left(row, given) for row in left),
        reason=str(given.get("reason", "")),
        token=str(given.get("token") or secrets.token_urlsafe(24)),
        errors=dict(errors or {}),
    )


def separate(
    run: models.Run,
    number: int | None,
    given: Mapping[str, Any],
    earlier: Iterable[models.Occurrence],
    *,
    errors: Mapping[str, str] | None = None,
) -> RedrivePage:
    """Return the page for separate work: as for going on, but with all that was done before, which it won't know."""
    found = page(run, number, given, errors=errors)
    return replace(found, left=tuple(_left(row, given) for row in earlier))


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
        found.append(
            page_models.InputField(
                name=f"input.{name}",
                label=str(spec.get("title") or tools.label(name)),
                hint=f"Stays {kept} unless you choose another."
                if kept
                else str(spec.get("description") or ""),
                kind="file" if is_file else "date" if spec.get("format") == "date" else "text",
                value="" if is_file else str(given.get(f"input.{name}", "" if value is None else value)),
                required=False,
            )
        )
    return tuple(found)


def _left(row: models.Occurrence, given: Mapping[str, Any]) -> Left:
    shown = row.owner.preview or {}
    return Left(
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
