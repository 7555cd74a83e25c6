"""The rows of patterns as COPY writes them, and which pattern each belongs to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import psycopg
from psycopg import sql

TABLES = (
    "runs_run", "runs_action", "runs_occurrence", "runs_review", "runs_entry", "runs_fact", "runs_revision",
    "runs_decision", "runs_evidence", "runs_plan", "runs_planstep", "runs_account", "runs_verification",
    "runs_notice", "runs_delivery", "runs_words",
)  # fmt: skip
"""What belongs to runs and is cast; an owner before what it owns."""
EVENTS = "runs_auditevent"
FIRST = 7_000_000_001
APART = 5_000_000
NUMBER = r"(?<![0-9])70\d{8}(?![0-9])"
"""The ids that patterns have: no other number looks like one of them."""


@dataclass(kw_only=True)
class Rows:
    """The rows of one lineage by table: each a text for each column, as COPY writes it."""

    columns: Mapping[str, list[str]]
    tables: dict[str, list[list[str]]] = field(default_factory=lambda: defaultdict(list))
    events: list[list[str]] = field(default_factory=list)

    def of(self, table: str) -> list[dict[str, str]]:
        """Return the rows of a table by the names of its columns."""
        return [dict(zip(self.columns[table], line, strict=True)) for line in self.tables.get(table, [])]


def columns(database: psycopg.Connection, table: str) -> list[str]:
    """Return the names of a table's columns in their order."""
    found = database.execute(
        "SELECT attname FROM pg_attribute WHERE attrelid = %s::regclass AND attnum > 0 AND NOT attisdropped"
        " ORDER BY attnum",
        [table],
    )
    return [name for (name,) in found]


def mark(database: psycopg.Connection) -> None:
    """Let ids begin where they can be told from all other numbers."""
    for place, table in enumerate(TABLES):
        database.execute(
            "SELECT setval(pg_get_serial_sequence(%s, 'id'), %s, false)", [table, FIRST + place * APART]
        )


def number_of(text: str) -> tuple[int, int]:
    """Return the table, by its place, and the number within it that an id of a pattern stands for."""
    return divmod(int(text) - FIRST, APART)


def by_root(database: psycopg.Connection, named: Mapping[str, list[str]]) -> dict[int, Rows]:
    """Return the rows of each lineage, by the id of its first run; `named` are the columns by table."""
    found: dict[int, Rows] = defaultdict(lambda: Rows(columns=named))
    owner: dict[tuple[str, str], int] = {}
    for table in TABLES:
        names = named[table]
        owning = _owning(database, table)
        for row in read(database, table):
            value = dict(zip(names, row, strict=True))
            root = int(value["root_id"]) if table == "runs_run" else next(
                owner[other, value[name]] for name, other in owning if (other, value[name]) in owner
            )  # fmt: skip
            owner[table, value["id"]] = root
            found[root].tables[table].append(row)
    names = named[EVENTS]
    for row in read(database, EVENTS, order="seq"):
        run = row[names.index("run_id")]
        if run != r"\N":
            found[owner["runs_run", run]].events.append(row)
    return dict(found)


def _owning(database: psycopg.Connection, table: str) -> list[tuple[str, str]]:
    """Return the columns that name a row of another of these tables, and which, the surest first."""
    from django.apps import apps

    model = next(one for one in apps.get_app_config("runs").get_models() if one._meta.db_table == table)
    keys: list[Any] = [
        key for key in model._meta.concrete_fields if key.is_relation and key.name != "undo_of"
    ]
    found = [(key.column, key.related_model._meta.db_table) for key in keys]
    return sorted((one for one in found if one[1] in TABLES), key=lambda one: TABLES.index(one[1]))


def read(database: psycopg.Connection, table: str, *, order: str = "id") -> Iterator[list[str]]:
    """Give a table's rows as COPY writes them."""
    question = sql.SQL("COPY (SELECT * FROM {} ORDER BY {}) TO STDOUT").format(
        sql.Identifier(table), sql.Identifier(order)
    )
    with database.cursor().copy(question) as copy:
        text = b"".join(bytes(part) for part in copy).decode()
    for line in text.split("\n"):
        if line:
            yield line.split("\t")
