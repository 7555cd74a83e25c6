"""Writing rows without Django's query compiler: a new one whole, a changed one where it differs from what was read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

from django.db.models import Field, Model
from django.db.models.fields import NOT_PROVIDED

from runs.models import columns, wire


def update(row: Model, before: Mapping[str, Any]) -> None:
    """Write the columns of a stored row that aren't what they were `before` (its attributes by name)."""
    for text, values in changed(row, before):
        wire.execute(text, values)


def changed(row: Model, before: Mapping[str, Any]) -> list[wire.Statement]:
    """Return the statement that writes them, none where there is nothing to write."""
    held = row.__dict__
    names = tuple([name for name in _stored(type(row)) if name in before and held[name] != before[name]])
    if not names:
        return []
    text, converts = _update(type(row), names)
    values = [write(held[name]) for name, write in zip(names, converts, strict=True)]
    return [(text, [*values, columns.number(row.pk)])]


def insert(row: Model) -> None:
    """Write a new row, and give it its number, if it has none yet, and whatever else the database sets by itself."""
    columns.together(adding(row))


def adding(row: Model) -> columns.Asked:
    """Return what writes a new row, to go together with others; the row knows its number once that is answered."""
    text, converts, given = _insert(type(row), row.pk is not None)
    held = row.__dict__

    def known(answer: list[wire.Row]) -> None:
        for told in answer:
            for (name, read), value in zip(given, told, strict=True):
                held[name] = None if value is None else read(value)
        row._state.adding, row._state.db = False, "default"

    return columns.Asked(statement=(text, [write(held[name]) for name, write in converts]), read=known)


@lru_cache(maxsize=32)
def _insert(
    model: type[Model], numbered: bool
) -> tuple[str, tuple[tuple[str, columns.Write], ...], tuple[tuple[str, columns.Read], ...]]:
    known = model._meta.concrete_fields
    given = [
        field
        for field in known
        if (field.primary_key and not numbered) or field.db_default is not NOT_PROVIDED
    ]
    mine = [field for field in known if field not in given]
    text = (
        f"INSERT INTO {model._meta.db_table} ({', '.join(_quoted(mine))})"
        f" VALUES ({', '.join(f'%s::{columns.cast(field)}' for field in mine)})"
        f"{' RETURNING ' if given else ''}{', '.join(_quoted(given))}"
    )
    return (
        columns.numbered(text),
        tuple((field.attname, columns.writer(field)) for field in mine),
        tuple((field.attname, columns.reader(field)) for field in given),
    )


def _quoted(fields: Iterable[Field[Any, Any]]) -> list[str]:
    return [f'"{field.column}"' for field in fields]


@lru_cache(maxsize=256)
def _update(model: type[Model], names: tuple[str, ...]) -> tuple[str, tuple[columns.Write, ...]]:
    by_name = {field.attname: field for field in model._meta.concrete_fields}
    sets = ", ".join(f'"{by_name[name].column}" = %s::{columns.cast(by_name[name])}' for name in names)
    text = f"UPDATE {model._meta.db_table} SET {sets} WHERE id = %s"
    return columns.numbered(text), tuple(columns.writer(by_name[name]) for name in names)


@lru_cache(maxsize=32)
def _stored(model: type[Model]) -> tuple[str, ...]:
    return tuple(field.attname for field in model._meta.concrete_fields if not field.primary_key)
