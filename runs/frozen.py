"""Changing frozen values, fast enough for a log of thousands of lines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

Kind = TypeVar("Kind")
Key = TypeVar("Key")
Value = TypeVar("Value")


def replace(value: Kind, **changes: Any) -> Kind:
    """Return a copy with these fields changed: what dataclasses.replace does, in a tenth of the time.

    Only for dataclasses without slots and without anything to do after their making; refuses (TypeError) a name that
    is no field.
    """
    new = object.__new__(type(value))
    fields = new.__dict__
    fields.update(value.__dict__)
    known = len(fields)
    fields.update(changes)
    if len(fields) != known:
        raise TypeError(f"{type(value).__name__} has no field {sorted(fields.keys() - value.__dict__)[0]!r}")
    return new


class Own(dict[Key, Value]):
    """A mapping that one computation made for itself, so that `put` may change it in place.

    Copying it at each of its steps would cost more the longer it goes on.
    """


def put(mapping: Mapping[Key, Value], key: Key, value: Value) -> Mapping[Key, Value]:
    """Return the mapping with this value: a copy, or the same one where it is somebody's own."""
    if not isinstance(mapping, Own):
        return {**mapping, key: value}
    mapping[key] = value
    return mapping
