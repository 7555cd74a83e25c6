"""The text and the values of an engine commit's one statement.

`runs_require` in its last line counts the rows of all parts and raises when one is missing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import psycopg
from django.conf import settings
from django.db import connection
from django.db.models import Field, Model, fields

from runs import exact, models
from runs.models.fields import DigestField, ExactField

SEEN = (
    " AND inbox = %s AND stop_at IS NULL AND hold_by_id IS NULL"
    " AND abs(extract(epoch FROM clock_timestamp() - %s::timestamptz)) < %s"
)
ENTRY = "(%s::integer, %s::varchar, %s::text, %s::bytea, %s::integer, %s::varchar, %s::text)"
OCCURRENCE = "(SELECT id FROM o)"


def execute(text: str, values: list[Any]) -> Any:
    """Return the one row of a statement, run on Django's connection past its own cursor, so that it is prepared."""
    connection.ensure_connection()
    with connection.wrap_database_errors:
        cursor = psycopg.RawCursor(
            connection.connection
        )  # takes $1, $2 as they are, and so reads no text twice
        cursor.execute(text, values, prepare=settings.DATABASE_PREPARE or None)
        return cursor.fetchone()


@lru_cache(maxsize=512)
def text(
    run: tuple[str, ...],
    seen: bool,
    lines: int,
    actions: tuple[bool, ...],
    occurrence: bool,
    owner: int | None,
    saved: tuple[tuple[type[Model], tuple[str, ...], bool], ...],
    steps: tuple[tuple[str, ...], ...],
) -> str:
    """Return the statement for this shape of a commit; it returns inbox number and the numbers of the new rows.

    Changed columns of the run, whether nothing may have been left for it, how many lines, new actions (linked to the
    new occurrence or not), a new occurrence (and which new action owns it), changed rows, changed plan steps.
    """
    parts: dict[str, str] = {}
    if lines:
        parts["e"] = (
            "INSERT INTO runs_entry (run_id, position, kind, content, head, number, boundary, counters)"
            f" SELECT run.id, v.* FROM run, (VALUES {', '.join([ENTRY] * lines)}) v RETURNING 1"
        )
    for at, linked in enumerate(actions):
        parts[f"a{at}"] = _insert(models.Action, "occurrence_id" if linked else "", OCCURRENCE)
    if occurrence:
        skip = "" if owner is None else "owner_id"
        parts["oi"] = _insert(models.Occurrence, skip, f"(SELECT id FROM a{owner})", number=OCCURRENCE)
    for at, (model, names, linked) in enumerate(saved):
        sets = _sets(model, names, linked=linked)
        parts[f"u{at}"] = f"UPDATE {model._meta.db_table} t SET {sets} FROM run WHERE t.id = %s RETURNING 1"
    for at, names in enumerate(steps):
        sets = _sets(models.PlanStep, names)
        parts[f"s{at}"] = (
            f"UPDATE runs_planstep SET {sets} FROM run WHERE run_id = run.id AND key = %s RETURNING 1"
        )
    first = {
        "run": f"UPDATE runs_run SET {_sets(models.Run, run) or 'fence = fence'} WHERE id = %s AND fence = %s"
        f" AND status = 'running' AND position = %s{SEEN if seen else ''} RETURNING id, inbox"
    }
    if occurrence:
        first["o"] = "SELECT nextval('runs_occurrence_id_seq') AS id FROM run"
    found = " + ".join(f"(SELECT count(*) FROM {name})" for name in parts) or "0"
    expected = lines + len(actions) + occurrence + len(saved) + len(steps)
    numbers = [
        OCCURRENCE if occurrence else "NULL",
        *(f"(SELECT id FROM a{at})" for at in range(len(actions))),
    ]
    return _numbered(
        f"WITH {', '.join(f'{name} AS ({part})' for name, part in (first | parts).items())}"
        f" SELECT run.inbox, ARRAY[{', '.join(numbers)}]::bigint[], runs_require({found}, {expected}) FROM run"
    )


def _numbered(statement: str) -> str:
    """Return the statement with its places numbered, as the server wants them."""
    numbers = itertools.count(1)
    return re.sub("%s", lambda _: f"${next(numbers)}", statement)


def _insert(model: type[Model], skip: str, instead: str, *, number: str = "") -> str:
    names = ["id"] if number else []
    casts = [number] if number else []
    for attname, cast, _ in _columns(model):
        names.append(f'"{attname}"')
        casts.append(instead if attname == skip else f"%s::{cast}")
    table = model._meta.db_table
    return f"INSERT INTO {table} ({', '.join(names)}) SELECT {', '.join(casts)} FROM run RETURNING id"


def _sets(model: type[Model], names: tuple[str, ...], *, linked: bool = False) -> str:
    return ", ".join(
        f"{field.column} = {OCCURRENCE if linked and field.name == 'occurrence' else f'%s::{_cast(field)}'}"
        for field in (_field(model, name) for name in names)
    )


def changes(row: Model, names: tuple[str, ...], linked: bool) -> list[Any]:
    """Return the values of a changed row, and its number."""
    wanted = [
        field
        for field in (_field(type(row), name) for name in names)
        if not (linked and field.name == "occurrence")
    ]
    return [*(write(field)(getattr(row, field.attname)) for field in wanted), row.pk]


def values(row: Model, *, skip: str) -> list[Any]:
    """Return the values of a new row."""
    held = row.__dict__
    return [convert(held[attname]) for attname, _, convert in _columns(type(row)) if attname != skip]


@lru_cache(maxsize=8)
def _columns(model: type[Model]) -> tuple[tuple[str, str, Callable[[Any], Any]], ...]:
    """Return each column that an insert names: attribute, type, and what makes the stored value of it."""
    return tuple(
        (field.attname, _cast(field), write(field))
        for field in model._meta.concrete_fields
        if not field.primary_key and field.db_default is fields.NOT_PROVIDED
    )


@lru_cache(maxsize=256)
def _field(model: type[Model], name: str) -> Any:
    return model._meta.get_field(name)


@lru_cache(maxsize=256)
def _cast(field: Field[Any, Any]) -> str:
    kind = field.db_type(connection) or ""
    return kind.split(" CHECK")[0]


@lru_cache(maxsize=256)
def write(field: Field[Any, Any]) -> Callable[[Any], Any]:
    """Return what makes the stored value of a field's value."""
    if isinstance(field, ExactField):
        return _exact
    if isinstance(field, DigestField):
        return _digest
    return _same


def _exact(value: Any) -> str | None:
    return None if value is None else exact.text_of(value)


def _digest(value: str | None) -> bytes | None:
    return None if value is None else bytes.fromhex(value)


def _same(value: Any) -> Any:
    return value
