"""The floors: what one durable step costs with nothing but PostgreSQL and a prepared statement.

L1 is one row of about 2 kB and the update of one row, in one commit and one round trip; L2 is the same twice, as an
intent and its result. One connection, `synchronous_commit=on`.
"""

from __future__ import annotations

import dataclasses
import time

import psycopg

_MAKE = """
CREATE TABLE IF NOT EXISTS bench_run (id bigint PRIMARY KEY, position integer NOT NULL, head text NOT NULL);
CREATE TABLE IF NOT EXISTS bench_entry (
    id bigserial PRIMARY KEY, run bigint NOT NULL, position integer NOT NULL, content text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(), UNIQUE (run, position));
TRUNCATE bench_run, bench_entry;
INSERT INTO bench_run VALUES (1, 0, '');
"""
_STEP = """
WITH line AS (INSERT INTO bench_entry (run, position, content) VALUES (1, %s, %s))
UPDATE bench_run SET position = %s, head = %s WHERE id = 1
"""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Floors:
    """Steps a second."""

    l1: float
    l2: float

    def between(self, other: Floors) -> Floors:
        """Return the middle of two measurements, one before and one after what is compared with them."""
        return Floors(l1=(self.l1 + other.l1) / 2, l2=(self.l2 + other.l2) / 2)


def measure(url: str, *, steps: int) -> Floors:
    """Return both floors of the server at `url`."""
    from ckptsite.services import postgres

    with postgres.connect(url) as connection:
        connection.autocommit = True
        connection.execute(_MAKE)
        _steps(connection, 50, first=0)  # prepared, and the tables are warm
        one = _steps(connection, steps, first=50)
        two = _steps(connection, 2 * (steps // 2), first=50 + steps)
        return Floors(l1=steps / one, l2=(steps // 2) / two)


def _steps(connection: psycopg.Connection, count: int, *, first: int) -> float:
    """Return the seconds that `count` steps took."""
    content, head = "x" * 2000, "0" * 64
    began = time.perf_counter()
    for position in range(first, first + count):
        connection.execute(_STEP, (position, content, position, head), prepare=True)
    return time.perf_counter() - began
