"""New rows for the hot path: what a model's constructor makes, without asking each field for its default."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, TypeVar

from django.db.models import Model
from django.db.models.base import ModelState

Row = TypeVar("Row", bound=Model)


def fresh(model: type[Row], *, named: dict[str, Model] | None = None, **values: Any) -> Row:
    """Return an unsaved row with these columns; `named` are the rows that its foreign keys name, by field.

    For models without defaults that could be changed in place. Refuses (TypeError) a name that is no column.
    """
    new = model.__new__(model)
    new._state = ModelState()
    held = new.__dict__
    held.update(_empty(model))
    known = len(held)
    held.update(values)
    if len(held) != known:
        raise TypeError(f"{model.__name__} has no column {sorted(values.keys() - _empty(model).keys())[0]!r}")
    for name, row in (named or {}).items():
        held[f"{name}_id"] = row.pk
        new._state.fields_cache[name] = row
    return new


@lru_cache(maxsize=16)
def _empty(model: type[Model]) -> dict[str, Any]:
    return {name: value for name, value in model().__dict__.items() if name != "_state"}
