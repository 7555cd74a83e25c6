"""Rows as the server writes and reads them, without Django's query compiler: for what is said at every step.

A row is read whole, by a condition in SQL; `runs.transitions.rows` changes it.
"""

from __future__ import annotations

import datetime
import itertools
import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

from django.db import connection
from django.db.models import Field, ForeignKey, Model, fields
from django.db.models.base import ModelState

from runs import exact
from runs.models import wire
from runs.models.fields import DigestField, ExactField

Values = list[bytes | None]
Write = Callable[[Any], bytes | None]
Read = Callable[[bytes], Any]
Row = TypeVar("Row", bound=Model)


def fetch(model: type[Row], where: str, values: Sequence[bytes | None]) -> list[Row]:
    """Return the rows that fit `where`, a condition with $1, $2 ... and whatever may follow it; each whole."""
    text, readers = _select(model)
    return [_made(model, readers, row) for row in wire.execute(text + where, values)]


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question that may go `together` with others: what is said, and what makes the answer of the rows."""

    statement: wire.Statement
    read: Callable[[list[wire.Row]], Any]


def asked(model: type[Model], where: str, values: Sequence[bytes | None]) -> Asked:
    """Return what `fetch` asks."""
    text, readers = _select(model)
    return Asked(
        statement=(text + where, values), read=lambda rows: [_made(model, readers, row) for row in rows]
    )


def said(statements: Iterable[wire.Statement]) -> list[Asked]:
    """Return these statements as questions whose answers say nothing."""
    return [Asked(statement=statement, read=lambda _rows: None) for statement in statements]


def together(*questions: Asked) -> list[Any]:
    """Return the answers to these questions, each about the database as it was after the one before."""
    answers = wire.together([question.statement for question in questions])
    return [question.read(rows) for question, rows in zip(questions, answers, strict=True)]


def one(model: type[Row], where: str, *numbers: int) -> Row:
    """Return the only row that fits; model.DoesNotExist when there is none."""
    known = all(-(2**63) <= value < 2**63 for value in numbers)  # nothing carries another, whoever names it
    found = fetch(model, where, [number(value) for value in numbers]) if known else []
    if not found:
        raise model.DoesNotExist(f"no {model.__name__} where {where} {numbers}")  # type: ignore[attr-defined]
    return found[0]


def follow(rows: Iterable[Model], *names: str) -> None:
    """Give the rows those that these foreign keys of theirs name, in one question for each key that names any."""
    held = list(rows)
    for name in names:
        key: Any = held[0]._meta.get_field(name) if held else None
        wanted = {row.__dict__[key.attname] for row in held} - {None} if key else set()
        if not wanted:
            continue
        found = {row.pk: row for row in fetch(key.related_model, "id = ANY($1::bigint[])", [numbers(wanted)])}
        for row in held:
            number = row.__dict__[key.attname]
            row._state.fields_cache[name] = None if number is None else found[number]


def _made(model: type[Row], readers: Sequence[tuple[str, Read]], raw: wire.Row) -> Row:
    new = model.__new__(model)
    state = new._state = ModelState()
    state.adding, state.db = False, "default"
    held = new.__dict__
    for (name, read), value in zip(readers, raw, strict=True):
        held[name] = None if value is None else read(value)
    return new


@lru_cache(maxsize=32)
def _select(model: type[Model]) -> tuple[str, tuple[tuple[str, Read], ...]]:
    columns = model._meta.concrete_fields
    names = ", ".join(f'"{field.column}"' for field in columns)
    readers = tuple((field.attname, reader(field)) for field in columns)
    return f"SELECT {names} FROM {model._meta.db_table} WHERE ", readers


def numbered(statement: str) -> str:
    """Return the statement with its places (%s) numbered, as the server wants them."""
    numbers = itertools.count(1)
    return re.sub("%s", lambda _: f"${next(numbers)}", statement)


@lru_cache(maxsize=512)
def cast(field: Field[Any, Any]) -> str:
    """Return the type that a field's value is cast to."""
    kind = field.db_type(connection) or ""
    return kind.split(" CHECK")[0]


def writer(field: Any) -> Write:
    """Return what writes a field's value as the server reads it."""
    if isinstance(field, ForeignKey):
        return writer(field.target_field)
    for kind, write, _ in _KINDS:
        if isinstance(field, kind):
            return lambda value: None if value is None else write(value)
    raise TypeError(f"there is no way to write {field}")


def reader(field: Any) -> Read:
    """Return what reads a field's value as the server writes it."""
    if isinstance(field, ForeignKey):
        return reader(field.target_field)
    for kind, _, read in _KINDS:
        if isinstance(field, kind):
            return read
    raise TypeError(f"there is no way to read {field}")


def digest(value: str) -> bytes:
    """Return a digest as the server reads it."""
    return b"\\x" + value.encode()


def digests(values: Iterable[str]) -> bytes:
    """Return digests as the server reads an array of them."""
    return b"{%s}" % b",".join(b'"\\\\x%s"' % value.encode() for value in values)


def word(value: str | None) -> bytes | None:
    """Return a text as the server reads it."""
    return None if value is None else value.encode()


def number(value: int | None) -> bytes | None:
    """Return a whole number as the server reads it."""
    return None if value is None else b"%d" % value


def numbers(values: Iterable[int]) -> bytes:
    """Return whole numbers as the server reads an array of them."""
    return b"{%s}" % b",".join(b"%d" % value for value in values)


def moment(value: bytes) -> datetime.datetime:
    """Return a moment as the server writes it, which is in UTC on Django's connections."""
    return datetime.datetime.fromisoformat(value.decode())


def day(value: bytes) -> datetime.date:
    """Return a day as the server writes it."""
    return datetime.date.fromisoformat(value.decode())


_KINDS: tuple[tuple[type, Write, Read], ...] = (
    (ExactField, lambda value: exact.text_of(value).encode(), json.loads),
    (DigestField, digest, lambda value: value[2:].decode()),
    (fields.DateTimeField, lambda value: value.isoformat().encode(), moment),
    (fields.DateField, lambda value: value.isoformat().encode(), day),
    (fields.BooleanField, lambda value: b"t" if value else b"f", lambda value: value == b"t"),
    (fields.IntegerField, lambda value: b"%d" % value, int),
    (fields.FloatField, lambda value: repr(value).encode(), float),
    (fields.CharField, str.encode, bytes.decode),
    (fields.GenericIPAddressField, str.encode, bytes.decode),
    (fields.TextField, str.encode, bytes.decode),
)
