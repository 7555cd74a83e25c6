"""The text and the values of an engine commit's one statement.

`runs_require` in its last line counts the rows that were to be changed and raises when one is missing; what is new is
selected from the run's own row, so it is written whenever that is.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from django.db.models import Model, fields

from runs import models
from runs.models import columns
from runs.transitions import log

SEEN = (
    " AND inbox = %s AND stop_at IS NULL AND hold_by_id IS NULL"
    " AND abs(extract(epoch FROM clock_timestamp() - %s::timestamptz)) < %s"
)
# Two questions, one for each index: asked as one, the server reads every action of the run.
UNHEARD = (
    " AND NOT EXISTS (SELECT FROM runs_action a"
    " WHERE a.run_id = runs_run.id AND a.identity_digest = ANY(%s::bytea[]))"
    " AND NOT EXISTS (SELECT FROM runs_action a WHERE a.run_id = runs_run.id"
    " AND a.proposed_identity = ANY(%s::bytea[]) AND a.proposed_identity IS NOT NULL)"
)
OCCURRENCE = "(SELECT id FROM o)"


class Shape(NamedTuple):
    """What a commit writes, without its values: commits of one shape share one statement.

    Changed columns of the run, whether nothing may have been left for it, whether the new actions' identities must be
    new to it, how many lines, new actions (linked to the new occurrence or not), a new occurrence (and which new action
    owns it), changed rows, changed plan steps.
    """

    run: tuple[str, ...]
    seen: bool
    unheard: bool
    lines: int
    actions: tuple[bool, ...]
    occurrence: bool
    owner: int | None
    saved: tuple[tuple[type[Model], tuple[str, ...], bool], ...]
    steps: tuple[tuple[str, ...], ...]


@lru_cache(maxsize=512)
def text(shape: Shape) -> str:
    """Return the statement for this shape of a commit; it returns inbox number and the numbers of the new rows."""
    run, seen, unheard, lines, actions, occurrence, owner, saved, steps = shape
    first = {
        "run": f"UPDATE runs_run SET {_sets(models.Run, run) or 'fence = fence'} WHERE id = %s AND fence = %s"
        f" AND status = 'running' AND position = %s{SEEN if seen else ''}{UNHEARD if unheard else ''}"
        " RETURNING id, inbox"
    }
    if occurrence:
        first["o"] = "SELECT nextval('runs_occurrence_id_seq') AS id FROM run"
    new: dict[str, str] = {}
    if lines:
        new["e"] = (
            f"INSERT INTO runs_entry (run_id, {log.COLUMNS})"
            f" SELECT run.id, v.* FROM run, (VALUES {', '.join([log.PLACES] * lines)}) v"
        )
    for at, linked in enumerate(actions):
        new[f"a{at}"] = _insert(models.Action, "occurrence_id" if linked else "", OCCURRENCE)
    if occurrence:
        skip = "" if owner is None else "owner_id"
        new["oi"] = _insert(models.Occurrence, skip, f"(SELECT id FROM a{owner})", number=OCCURRENCE)
    changed: dict[str, str] = {}
    for at, (model, names, linked) in enumerate(saved):
        sets = _sets(model, names, linked=linked)
        changed[f"u{at}"] = f"UPDATE {model._meta.db_table} t SET {sets} FROM run WHERE t.id = %s RETURNING 1"
    # Not counted: a reply may name a step that no plan has, and a plan of the same reply may take one out.
    marks = {
        f"s{at}": f"UPDATE runs_planstep SET {_sets(models.PlanStep, names)} FROM run"
        " WHERE run_id = run.id AND key = %s"
        for at, names in enumerate(steps)
    }
    found = " + ".join(f"(SELECT count(*) FROM {name})" for name in changed)
    numbers = [
        OCCURRENCE if occurrence else "NULL",
        *(f"(SELECT id FROM a{at})" for at in range(len(actions))),
    ]
    answer = ["run.inbox"]
    if occurrence or actions:
        answer.append(f"ARRAY[{', '.join(numbers)}]::bigint[]")
    else:
        answer.append("NULL")
    if changed:
        answer.append(f"runs_require({found}, {len(changed)})")
    return columns.numbered(
        f"WITH {', '.join(f'{name} AS ({part})' for name, part in (first | new | changed | marks).items())}"
        f" SELECT {', '.join(answer)} FROM run"
    )


def _insert(model: type[Model], skip: str, instead: str, *, number: str = "") -> str:
    names = ["id"] if number else []
    casts = [number] if number else []
    for attname, cast, _ in _columns(model):
        names.append(f'"{attname}"')
        casts.append(instead if attname == skip else f"%s::{cast}")
    table = model._meta.db_table
    back = "" if number else " RETURNING id"
    return f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(casts)} FROM run{back}"


def _sets(model: type[Model], names: tuple[str, ...], *, linked: bool = False) -> str:
    return ", ".join(
        f"{field.column} = {OCCURRENCE if linked and field.name == 'occurrence' else f'%s::{columns.cast(field)}'}"
        for field in (_field(model, name) for name in names)
    )


def changes(row: Model, names: tuple[str, ...], linked: bool) -> columns.Values:
    """Return the values of a changed row, and its number."""
    held = row.__dict__
    return [
        *(convert(held[attname]) for attname, convert in _changed(type(row), names, linked)),
        columns.number(held["id"]),
    ]


def written(model: type[Model], values: Mapping[str, Any]) -> columns.Values:
    """Return these values of a model's fields."""
    converts = _changed(model, tuple(values), False)
    return [convert(value) for (_, convert), value in zip(converts, values.values(), strict=True)]


@lru_cache(maxsize=256)
def _changed(
    model: type[Model], names: tuple[str, ...], linked: bool
) -> tuple[tuple[str, columns.Write], ...]:
    wanted = (_field(model, name) for name in names if not (linked and name == "occurrence"))
    return tuple((field.attname, columns.writer(field)) for field in wanted)


def values(row: Model, *, skip: str) -> columns.Values:
    """Return the values of a new row."""
    held = row.__dict__
    return [convert(held[attname]) for attname, _, convert in _columns(type(row)) if attname != skip]


@lru_cache(maxsize=8)
def _columns(model: type[Model]) -> tuple[tuple[str, str, columns.Write], ...]:
    """Return each column that an insert names: attribute, type, and what makes the stored value of it."""
    return tuple(
        (field.attname, columns.cast(field), columns.writer(field))
        for field in model._meta.concrete_fields
        if not field.primary_key and field.db_default is fields.NOT_PROVIDED
    )


@lru_cache(maxsize=256)
def _field(model: type[Model], name: str) -> Any:
    return model._meta.get_field(name)
