"""Counting what one thread says to the database, whichever way it says it."""

from __future__ import annotations

import contextlib
import dataclasses
import threading
import time
from collections.abc import Iterator
from typing import Any
from unittest import mock

import psycopg

from runs.models import wire


@dataclasses.dataclass
class Said:
    """Statements, the rows that they read or wrote, and the seconds from saying one until it is answered."""

    statements: int = 0
    rows: int = 0
    seconds: float = 0.0


@contextlib.contextmanager
def statements() -> Iterator[Said]:
    """Give a count of this thread's statements in the block; a heartbeat beside it doesn't count."""
    said, here = Said(), threading.get_ident()
    inner = psycopg.Cursor.execute

    def execute(cursor: psycopg.Cursor[Any], *args: Any, **kwargs: Any) -> psycopg.Cursor[Any]:
        began = time.perf_counter()
        inner(cursor, *args, **kwargs)
        if threading.get_ident() == here:
            said.seconds += time.perf_counter() - began
            said.statements += 1
            said.rows += max(0, cursor.rowcount)
        return cursor

    past = wire.execute

    def direct(*args: Any, **kwargs: Any) -> Any:
        began = time.perf_counter()
        rows = past(*args, **kwargs)
        if threading.get_ident() == here:
            said.seconds += time.perf_counter() - began
            said.statements += 1
            said.rows += len(rows)
        return rows

    past_together = wire.together

    def together(statements: Any) -> Any:
        began = time.perf_counter()
        answers = past_together(statements)
        if threading.get_ident() == here:
            said.seconds += time.perf_counter() - began
            said.statements += len(answers)
            said.rows += sum(len(rows) for rows in answers)
        return answers

    with (
        mock.patch.object(psycopg.Cursor, "execute", execute),
        mock.patch.object(wire, "execute", direct),
        mock.patch.object(wire, "together", together),
    ):
        yield said
