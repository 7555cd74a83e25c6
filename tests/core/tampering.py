"""Changing rows behind the product's back, as somebody who owns the database could."""

from __future__ import annotations

import datetime
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection, transaction
from django.db import models as fields

from runs import exact, models

# What decides nothing, and so may be told in other words: titles, messages, and when a row was made or closed.
FREE: dict[type[fields.Model], set[str]] = {
    models.AuditEvent: set(),
    models.Entry: {"id", "created_at"},
    models.Action: {
        "id", "created_at", "closed_at", "error", "duplicate_of", "blocked_by", "retry_of", "not_before",
    },
    models.Occurrence: {"id", "created_at", "settled_at", "first_sent_at", "verification"},
    models.PlanStep: {"id"},
    models.Decision: {"id", "created_at", "token", "channel", "ip"},
    models.Evidence: {"id", "created_at"},
    models.Fact: {"id", "created_at"},
}  # fmt: skip
NOUNS = {
    models.AuditEvent: r"audit (event|chain)",
    models.Entry: r"run \d+",
    models.Action: r"action \d+|occurrence \d+|run \d+: the action",
    models.Occurrence: r"(occurrence|action) \d+",
    models.PlanStep: r"run \d+, plan step",
    models.Decision: r"decision \d+|review \d+",
    models.Evidence: r"evidence \d+|action \d+|run \d+, evidence",
    models.Fact: r"run \d+, (fact \d+|evidence)|run \d+: it was read",
}
TABLES = sorted(FREE, key=lambda model: model.__name__)


@contextmanager
def unhindered() -> Iterator[None]:
    """A transaction of somebody who owns the database: no trigger and no foreign key is in the way."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL session_replication_role = replica")
        yield
        transaction.set_rollback(True)


def other(field: Any, value: Any, rng: random.Random) -> Any:
    """A value that the column can hold and that isn't this one."""
    kind = type(field).__name__
    if isinstance(value, bool):
        return not value
    if isinstance(value, datetime.datetime):
        return value + datetime.timedelta(microseconds=rng.choice([1, 10**9]))
    if kind == "DigestField":
        return exact.digest_of(f"{value}{rng.random()}")
    if kind == "ExactField":
        return (
            {"tampered": rng.random()}
            if rng.random() < 0.5 or not isinstance(value, dict)
            else value | {"x": 1}
        )
    if (
        isinstance(value, (int, float))
        or (value is None and "Integer" in kind)
        or kind in {"ForeignKey", "OneToOneField", "BigAutoField"}
    ):
        return 2 if field.name == "tier" and value != 2 else 3 if field.name == "tier" else (value or 0) + 1
    if kind == "GenericIPAddressField":
        return "10.0.0.7"
    if kind == "DateTimeField":
        return datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    options = [choice for choice, _ in (field.choices or []) if choice != value]
    return rng.choice(options) if options else "x" + str(value or "")[1:]


def flip(model: type[fields.Model], field: Any, row: fields.Model, rng: random.Random) -> None:
    """Change one column of one row."""
    value = other(field, getattr(row, field.attname), rng)
    assert model._base_manager.filter(pk=row.pk).update(**{field.attname: value}) == 1


def columns(model: type[fields.Model]) -> list[Any]:
    """Every column that the verifier answers for."""
    return [field for field in model._meta.concrete_fields if field.name not in FREE[model]]


def decides(field: Any, row: fields.Model) -> bool:
    """Return whether the column of this row says anything: on what terms is asked only where somebody is asked."""
    return not (field.name == "terms" and getattr(row, "verdict", "") == "allow")


def rows(model: type[fields.Model]) -> list[Any]:
    return list(model._base_manager.order_by("pk"))


def deleted(model: Any, row: Any) -> None:
    """Take the row away, past everything that hangs on it."""
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {model._meta.db_table} WHERE {model._meta.pk.column} = %s", [row.pk])


def inserted(model: Any, row: Any) -> None:
    """Put a copy of the row beside it, under the next free number."""
    copy = model._base_manager.get(pk=row.pk)
    numbers = {
        models.AuditEvent: "seq", models.Entry: "position", models.Action: "call_index",
        models.Occurrence: "n", models.PlanStep: "order", models.Decision: "revision",
        models.Evidence: "number", models.Fact: "number",
    }  # fmt: skip
    if model is not models.AuditEvent:
        copy.pk = None
    setattr(copy, numbers[model], getattr(row, numbers[model]) + 1000)
    for name, value in {"key": exact.digest_of(row.pk), "token": f"forged-{row.pk}", "number": None}.items():
        if hasattr(copy, name) and name != numbers[model]:
            setattr(copy, name, value)
    if model is models.Entry:
        copy.boundary, copy.counters = None, None
    if model is models.AuditEvent:
        copy.previous = exact.digest_of(row.pk)
    copy.save(force_insert=True)


def swapped(model: Any, one: Any, two: Any) -> None:
    """Let two rows exchange what they say, each keeping its place."""
    places = {
        models.AuditEvent: {"seq", "previous", "hash"},
        models.Entry: {"run", "position", "number", "boundary", "counters"},
        models.Action: {"run", "reply_position", "call_index"},
        models.Occurrence: {"root", "tool", "identity_digest", "n", "key"}, models.PlanStep: {"run", "key", "order"},
        models.Decision: {"review", "revision", "person", "token"},
        models.Evidence: {"action", "number"}, models.Fact: {"run", "number"},
    }  # fmt: skip
    kept = places[model] | {model._meta.pk.name}
    names = [field.attname for field in model._meta.concrete_fields if field.name not in kept]
    for row, source in ((one, two), (two, one)):
        model._base_manager.filter(pk=row.pk).update(**{name: getattr(source, name) for name in names})


def one_change(rng: random.Random, rows: list[Any], run: models.Run | None) -> str:
    """Make one change at random to a chain, the audit chain or a run's log, and say which."""
    model, kind = type(rows[0]), rng.choice(["byte", "column", "deleted", "swapped", "inserted", "rolled"])
    one, two = rng.sample(rows, 2)
    match kind:
        case "byte":
            byte(model, one, rng)
        case "column":
            flip(model, rng.choice(columns(model)[1:]), one, rng)
        case "deleted":
            deleted(model, one)
        case "swapped":
            swapped(model, one, two)
        case "inserted":
            inserted(model, one)
        case "rolled":
            rolled_back(rows, rng.randrange(1, len(rows)), run)
    return f"{kind} {one}"


def byte(model: Any, row: Any, rng: random.Random) -> None:
    """Change one byte of the stored content, to another that text may hold."""
    text = exact.text_of(row.content)
    at = rng.randrange(len(text))
    other = rng.choice([sign for sign in map(chr, range(32, 127)) if sign != text[at]])
    with connection.cursor() as cursor:
        cursor.execute(
            f"UPDATE {model._meta.db_table} SET content = %s WHERE {model._meta.pk.column} = %s",
            [text[:at] + other + text[at + 1 :], row.pk],
        )


def rolled_back(rows: list[Any], left: int, run: models.Run | None) -> None:
    """Cut off all rows but the first ones, and let what names the chain's end name the last of these."""
    last, gone = rows[left - 1], [row.pk for row in rows[left:]]
    table, key = rows[0]._meta.db_table, rows[0]._meta.pk.column
    with connection.cursor() as cursor:
        cursor.execute(f"DELETE FROM {table} WHERE {key} = ANY(%s)", [gone])
    if run is None:
        models.AuditHead.objects.update(seq=last.seq, hash=last.hash)
        return
    numbers = [row.number for row in rows[:left] if row.number is not None]
    models.Run.objects.filter(pk=run.pk).update(
        position=last.position, head=last.head, checkpoint_number=max(numbers, default=0)
    )
