"""Changing a row in the columns that differ from what was read, without Django's query compiler."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from django.db.models import Model

from runs.models import columns, wire


def update(row: Model, before: Mapping[str, Any]) -> None:
    """Write the columns of a stored row that aren't what they were `before` (its attributes by name)."""
    held = row.__dict__
    changed = tuple([name for name in _stored(type(row)) if name in before and held[name] != before[name]])
    if not changed:
        return
    text, converts = _update(type(row), changed)
    wire.execute(
        text,
        [*(write(held[name]) for name, write in zip(changed, converts, strict=True)), columns.number(row.pk)],
    )


@lru_cache(maxsize=256)
def _update(model: type[Model], names: tuple[str, ...]) -> tuple[str, tuple[columns.Write, ...]]:
    by_name = {field.attname: field for field in model._meta.concrete_fields}
    sets = ", ".join(f'"{by_name[name].column}" = %s::{columns.cast(by_name[name])}' for name in names)
    text = f"UPDATE {model._meta.db_table} SET {sets} WHERE id = %s"
    return columns.numbered(text), tuple(columns.writer(by_name[name]) for name in names)


@lru_cache(maxsize=32)
def _stored(model: type[Model]) -> tuple[str, ...]:
    return tuple(field.attname for field in model._meta.concrete_fields if not field.primary_key)
