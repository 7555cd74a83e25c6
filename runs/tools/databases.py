"""Two kinds of databases behind one door: one statement at a time, read-only or in one transaction with a marker row.

The marker is a row of the table `ckptsite_effects` under the effect's key, written by the same transaction as the
change: it stands exactly when the change does, and as its key is the primary one, no change can stand twice.
"""

from __future__ import annotations

import abc
import contextlib
import datetime
import re
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Self
from urllib.parse import urlsplit

import psycopg

from runs.tools import sql_rows
from runs.tools.sql_rows import Rows as Rows

MARKERS = "ckptsite_effects"
_TABLE = f"CREATE TABLE {MARKERS} (key text PRIMARY KEY, done_at text NOT NULL, affected bigint, answer text)"
READS = frozenset({"select", "with", "values", "table", "explain", "show"})
WRITES = frozenset({"insert", "update", "delete", "merge", "replace", "with"})
Errors = (psycopg.Error, sqlite3.Error, OSError)


class Refused(ValueError):
    """The statement is none that may be sent here; one sentence."""


class Unmarked(RuntimeError):
    """The table of markers isn't there and can't be made; one sentence."""


def first_word(statement: str) -> str:
    """Return what a statement begins with, in small letters."""
    found = re.match(r"\s*([A-Za-z]+)", statement)  # no comment before it: databases end them differently
    return found[1].lower() if found else ""


def check(statement: str, allowed: frozenset[str]) -> None:
    """Refuse (Refused) a statement that begins with something else, or is about the markers."""
    word = first_word(statement)
    if word not in allowed:
        raise Refused(
            f"A statement here begins with {', '.join(sorted(allowed)).upper()}, not {word.upper()!r}."
        )
    if MARKERS in statement.lower():
        raise Refused(f"The table {MARKERS} is not for agents.")


class Database(abc.ABC):
    """One connection to one database; it ends with the block, and what wasn't committed with it."""

    def __init__(self, url: str, password: str, *, seconds: float, write: bool = False) -> None:
        self.url, self.password = url, password
        self.end, self.write = time.monotonic() + seconds, write

    @abc.abstractmethod
    def __enter__(self) -> Self:
        """Open it, and its transaction."""

    @abc.abstractmethod
    def __exit__(self, *_: object) -> None:
        """Close it."""

    @abc.abstractmethod
    def run(self, statement: str, parameters: Sequence[Any], *, most: int) -> Rows:
        """Return what one statement gives back."""

    @abc.abstractmethod
    def commit(self) -> None:
        """Let it stand. Refuses sqlite3 and psycopg errors; `undone_by` tells which of them prove that it doesn't."""

    @abc.abstractmethod
    def undone_by(self, error: Exception) -> bool:
        """Return whether this error at the commit proves that nothing was committed."""

    @abc.abstractmethod
    def has_markers(self) -> bool:
        """Return whether the table of markers is there."""

    @abc.abstractmethod
    def explain(self, statement: str, parameters: Sequence[Any]) -> str:
        """Return how the database would do it, without doing it."""

    @abc.abstractmethod
    def keys_of(self, table: str) -> tuple[str, ...]:
        """Return the columns of the table's primary key."""

    @abc.abstractmethod
    def placeholder(self, number: int) -> str:
        """Return how the nth parameter is written, from 1."""

    def written(self, statement: str) -> str:
        """Return a statement of ours with its parameters as this database has them."""
        return re.sub(r"\?(\d)", lambda found: self.placeholder(int(found[1])), statement)

    def marking(self, key: str) -> None:
        """Write the marker of this effect. Refuses Unmarked, and the database's own error where it stands already."""
        if not self.has_markers():
            try:
                self.run(_TABLE, (), most=0)
            except Errors as error:
                raise Unmarked(
                    f"The table {MARKERS} can't be made ({said(error)}). Make it: {_TABLE}"
                ) from error
        now = datetime.datetime.now(datetime.UTC).isoformat()
        self.run(
            self.written("INSERT INTO ckptsite_effects (key, done_at) VALUES (?1, ?2)"), (key, now), most=0
        )

    def marked(self, key: str, affected: int, answer: str) -> bool:
        """Note in the marker what came of it; return whether the marker is still there."""
        update = self.written("UPDATE ckptsite_effects SET affected = ?1, answer = ?2 WHERE key = ?3")
        return self.run(update, (affected, answer, key), most=0).affected == 1

    def found(self, keys: Sequence[str]) -> tuple[int, str] | None:
        """Return how many rows were changed, and the answer, if an effect stands under one of these keys."""
        if not self.has_markers():
            return None
        select = self.written("SELECT affected, answer FROM ckptsite_effects WHERE key = ?1")
        for key in keys:
            rows = self.run(select, (key,), most=1).rows
            if rows:
                return int(rows[0][0] or 0), str(rows[0][1] or "")
        return None

    @abc.abstractmethod
    def back(self) -> None:
        """Take back everything of this transaction."""


class Postgres(Database):
    """PostgreSQL: each statement by the extended protocol, which takes one statement only."""

    def __enter__(self) -> Self:
        self._connection = psycopg.connect(
            self.url,
            password=self.password or None,
            connect_timeout=max(2, int(min(10, self.end - time.monotonic()))),
            application_name="ckptsite tool",
        )
        self._connection.read_only = not self.write
        self._cursor = psycopg.RawCursor(self._connection)
        left = max(1, int((self.end - time.monotonic()) * 1000))
        limits = "SELECT set_config('statement_timeout', $1, false), set_config('lock_timeout', $1, false)"
        try:
            self._cursor.execute(limits, [str(left)])
        except BaseException:
            self._connection.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def placeholder(self, number: int) -> str:
        return f"${number}"

    def run(self, statement: str, parameters: Sequence[Any], *, most: int) -> Rows:
        cursor = self._cursor.execute(statement, list(parameters), prepare=True)
        if self._connection.info.transaction_status != psycopg.pq.TransactionStatus.INTRANS:
            raise Refused("The statement ended its own transaction.")
        if cursor.description is None:
            return Rows(affected=max(cursor.rowcount, 0))
        columns = tuple(column.name for column in cursor.description)
        return sql_rows.rows(columns, cursor.fetchmany(most + 1), most, cursor.rowcount)

    def commit(self) -> None:
        self._connection.commit()

    def undone_by(self, error: Exception) -> bool:
        return isinstance(error, psycopg.Error) and not isinstance(error, psycopg.OperationalError)

    def back(self) -> None:
        self._connection.rollback()

    def has_markers(self) -> bool:
        return self.run("SELECT to_regclass($1)::text", (MARKERS,), most=1).rows[0][0] is not None

    def explain(self, statement: str, parameters: Sequence[Any]) -> str:
        return "\n".join(str(row[0]) for row in self.run(f"EXPLAIN {statement}", parameters, most=200).rows)

    def keys_of(self, table: str) -> tuple[str, ...]:
        select = (
            "SELECT quote_ident(a.attname) FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid"
            " AND a.attnum = ANY(i.indkey) WHERE i.indrelid = $1::text::regclass AND i.indisprimary ORDER BY a.attnum"
        )
        return tuple(str(row[0]) for row in self.run(select, (table,), most=32).rows)


class Sqlite(Database):
    """SQLite: one file; no other file can be attached, and no setting changed."""

    def __enter__(self) -> Self:
        path = urlsplit(self.url).path
        mode = "rw" if self.write else "ro"
        left = max(0.0, self.end - time.monotonic())
        uri = f"{Path('/' + path.lstrip('/')).as_uri()}?mode={mode}"
        self._connection = sqlite3.connect(uri, uri=True, timeout=left, isolation_level=None)
        try:
            self._connection.execute("BEGIN IMMEDIATE" if self.write else "BEGIN")
        except BaseException:
            self._connection.close()
            raise
        self._connection.set_progress_handler(lambda: time.monotonic() > self.end, 10_000)
        self._connection.set_authorizer(_authorized)
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def placeholder(self, number: int) -> str:
        return f"?{number}"

    def run(self, statement: str, parameters: Sequence[Any], *, most: int) -> Rows:
        cursor = self._connection.execute(statement, list(parameters))
        if cursor.description is None:
            return Rows(affected=max(cursor.rowcount, 0))
        columns = tuple(str(column[0]) for column in cursor.description)
        writes = first_word(statement) in WRITES - {"with"}
        found = (
            cursor.fetchall() if writes else cursor.fetchmany(most + 1)
        )  # a change is done once all is fetched
        return sql_rows.rows(columns, found, most, len(found))

    def commit(self) -> None:
        self._connection.set_authorizer(None)
        self._connection.execute("COMMIT")

    def undone_by(self, error: Exception) -> bool:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        return code in {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_CONSTRAINT}

    def back(self) -> None:
        self._connection.set_authorizer(None)
        self._connection.execute("ROLLBACK")
        self._connection.execute("BEGIN")
        self._connection.set_authorizer(_authorized)

    def has_markers(self) -> bool:
        return bool(self.run("SELECT 1 FROM sqlite_master WHERE name = ?1", (MARKERS,), most=1).rows)

    def explain(self, statement: str, parameters: Sequence[Any]) -> str:
        rows = self.run(f"EXPLAIN QUERY PLAN {statement}", parameters, most=200).rows
        return "\n".join(str(row[3]) for row in rows)

    def keys_of(self, table: str) -> tuple[str, ...]:
        bare = table.rpartition(".")[2].strip('"')
        select = "SELECT name FROM pragma_table_info(?1) WHERE pk > 0 ORDER BY pk"
        return tuple(f'"{row[0]}"' for row in self.run(select, (bare,), most=32).rows)


_DENIED = frozenset(
    {sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH, sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT}
)


def _authorized(action: int, first: str | None, second: str | None, *_: object) -> int:
    setting = action == sqlite3.SQLITE_PRAGMA and first != "table_info"
    loading = action == sqlite3.SQLITE_FUNCTION and (second or "").lower() == "load_extension"
    return sqlite3.SQLITE_DENY if action in _DENIED or setting or loading else sqlite3.SQLITE_OK


@contextlib.contextmanager
def opened(url: str, password: str, *, seconds: float, write: bool = False) -> Iterator[Database]:
    """Open a transaction in the database at `url`; what isn't committed in the block never was."""
    kind = Sqlite if url.startswith("sqlite:") else Postgres
    with kind(url, password, seconds=seconds, write=write) as database:
        yield database


def again(error: BaseException) -> bool:
    """Return whether the same may be tried again: it was never reached, or busy."""
    busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
    return busy or isinstance(error, psycopg.OperationalError)


def said(error: BaseException) -> str:
    """Return what a database says, in one line and without its context."""
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    return " ".join(str(primary or error).split())[:500]
