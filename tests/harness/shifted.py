"""A clock that jumps: PostgreSQL's own clock and the engine's deadlines, moved together for one database.

`clock_timestamp()` and `now()` are found in a schema of the test's before PostgreSQL's, so SQL statements, whoever
wrote them, read the moved time. The engine's monotonic clock, which deadlines inside a worker are judged by, moves
with it. A table of status changes, kept by triggers, stands beside them: no writer can forget to be in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import SimpleNamespace
from unittest import mock

from django.db import connection

from runs import lifecycle
from runs.engine import acting, advance, context

_MAKE = """
CREATE SCHEMA shifted;
CREATE TABLE shifted.shift (seconds double precision NOT NULL);
INSERT INTO shifted.shift VALUES (0);
CREATE FUNCTION shifted.clock_timestamp() RETURNS timestamptz LANGUAGE sql VOLATILE AS
  'SELECT pg_catalog.clock_timestamp() + (SELECT seconds FROM shifted.shift) * interval ''1 second''';
CREATE FUNCTION shifted.now() RETURNS timestamptz LANGUAGE sql VOLATILE AS
  'SELECT pg_catalog.now() + (SELECT seconds FROM shifted.shift) * interval ''1 second''';
CREATE TABLE shifted.moves (subject text NOT NULL, id bigint NOT NULL, old text, new text NOT NULL);
CREATE FUNCTION shifted.note_status() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO shifted.moves VALUES (TG_TABLE_NAME, NEW.id, OLD.status, NEW.status); RETURN NULL; END $$;
CREATE FUNCTION shifted.note_state() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
  INSERT INTO shifted.moves VALUES (TG_TABLE_NAME, NEW.id, OLD.state, NEW.state); RETURN NULL; END $$;
"""
_TRIGGER = """
CREATE TRIGGER shifted_moves AFTER UPDATE ON {table} FOR EACH ROW
  WHEN (OLD.{column} IS DISTINCT FROM NEW.{column}) EXECUTE FUNCTION shifted.note_{column}()
"""
_TABLES = {
    "runs_run": ("status", lifecycle.RUN_MOVES),
    "runs_action": ("status", lifecycle.ACTION_MOVES),
    "runs_review": ("status", lifecycle.REVIEW_MOVES),
    "runs_occurrence": ("state", lifecycle.OCCURRENCE_MOVES),
}


@dataclass
class Clock:
    """How far the clock is moved."""

    seconds: float = 0.0

    def jump(self, seconds: float) -> None:
        """Move the clock on, or back."""
        self.seconds += seconds
        with connection.cursor() as cursor:
            cursor.execute("UPDATE shifted.shift SET seconds = %s", [self.seconds])

    def monotonic(self) -> float:
        """Return the engine's monotonic time, which never goes back."""
        self._latest = max(self._latest, time.monotonic() + self.seconds)
        return self._latest

    _latest: float = 0.0


@contextmanager
def shifted() -> Iterator[Clock]:
    """Give the clock of this test's database while the block runs."""
    name = connection.settings_dict["NAME"]
    clock = Clock()
    with connection.cursor() as cursor:
        cursor.execute(_MAKE)
        for table, (column, _) in _TABLES.items():
            cursor.execute(_TRIGGER.format(table=table, column=column))
        cursor.execute(f'ALTER DATABASE "{name}" SET search_path = shifted, pg_catalog, public')
    connection.close()
    engine_time = SimpleNamespace(monotonic=clock.monotonic, time=time.time, sleep=time.sleep)
    try:
        with ExitStack() as stack:
            for module in (acting, advance, context):
                if hasattr(module, "time"):
                    stack.enter_context(mock.patch.object(module, "time", engine_time))
            yield clock
    finally:
        connection.close()
        with connection.cursor() as cursor:
            cursor.execute(f'ALTER DATABASE "{name}" RESET search_path')
            cursor.execute("DROP SCHEMA shifted CASCADE")
        connection.close()


def unlawful_moves() -> list[str]:
    """Return the changes of a status since the last call that the table of moves doesn't have."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM shifted.moves RETURNING subject, id, old, new")
        rows = cursor.fetchall()
    return [
        f"{subject} {number} went from {old} to {new}"
        for subject, number, old, new in rows
        if not any((move.old, move.new) == (old, new) for move in _TABLES[subject][1])
    ]
