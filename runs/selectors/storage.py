"""What the database holds: bytes by kind and by agent, and how fast it grows; found without reading a large table.

Sizes are the server's own figures. What each agent takes up is estimated from a sample of the log's blocks, how much
was written when by searching the numbers of the lines, which grow with time.
"""

from __future__ import annotations

import datetime
import itertools
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection
from django.utils import timezone

from runs import models
from runs.selectors.storage_kinds import GROUPS as GROUPS

KEEP = 300.0
"""Seconds for which one look answers everybody who asks."""
BLOCKS = 500
"""So many blocks of the log are sampled; where it has fewer, every line is counted."""
DAYS = 30
OTHER = "Everything else"


_TABLES = """
SELECT s.relname, CASE WHEN s.n_live_tup > 0 THEN s.n_live_tup ELSE greatest(c.reltuples, 0) END::bigint,
  pg_total_relation_size(s.relid),
  pg_indexes_size(s.relid), CASE c.reltoastrelid WHEN 0 THEN 0 ELSE pg_total_relation_size(c.reltoastrelid) END
FROM pg_stat_user_tables s JOIN pg_class c ON c.oid = s.relid
"""
_SERVER = """
SELECT clock_timestamp(), pg_database_size(current_database()),
  greatest(1, pg_relation_size('runs_entry') / current_setting('block_size')::int)
"""
# Each run's version is asked for by its key, whatever the server thinks of how many runs the sample has.
_AGENTS = """
WITH sampled AS MATERIALIZED (
  SELECT run_id, count(*) AS lines, sum(pg_column_size(content)) AS contents
  FROM runs_entry TABLESAMPLE SYSTEM (%s) REPEATABLE (1) GROUP BY run_id)
SELECT agent.name, agent.title, sum(lines), sum(contents)
FROM sampled CROSS JOIN LATERAL (SELECT agent_version_id FROM runs_run WHERE id = sampled.run_id LIMIT 1) run
JOIN runs_agentversion version ON version.id = run.agent_version_id JOIN runs_agent agent ON agent.id = version.agent_id
GROUP BY agent.id
"""
# For each moment the first number that was given at it or later, halving the numbers that are left.
_WRITTEN = """
WITH RECURSIVE halved AS (
  SELECT moment, low, high FROM unnest(%s::timestamptz[]) AS moment,
    (SELECT coalesce(min(id), 0) AS low, coalesce(max(id), -1) + 1 AS high FROM {table}) ends
  UNION ALL
  SELECT moment, CASE WHEN met.created_at < moment THEN met.id + 1 ELSE low END,
    CASE WHEN met.created_at < moment THEN high ELSE (low + high) / 2 END
  FROM halved, LATERAL (SELECT id, created_at FROM {table} WHERE id >= (low + high) / 2 ORDER BY id LIMIT 1) met
  WHERE low < high)
SELECT low FROM halved WHERE low >= high ORDER BY moment
"""
_BETWEEN = """
SELECT (SELECT count(*) FROM runs_run WHERE id >= low AND id < high)
FROM unnest(%s::bigint[], %s::bigint[]) WITH ORDINALITY AS pair(low, high, place) ORDER BY place
"""
# Some numbers were given to no line.
_DENSE = """
SELECT sum(found.lines), sum(least(500, %(high)s - start))
FROM generate_series(%(low)s::bigint, %(high)s::bigint - 1, greatest(500, (%(high)s - %(low)s) / 20)) AS start,
  LATERAL (SELECT count(*) AS lines FROM runs_entry WHERE id >= start AND id < least(start + 500, %(high)s)) found
"""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """What one kind takes up, in bytes, with its indexes and the contents that are kept beside their rows."""

    name: str
    key: str
    bytes: int
    indexes: int = 0
    apart: int = 0
    rows: int | None = None  # about
    of_runs: bool = False


@dataclass(frozen=True, kw_only=True)
class Share:
    """What one agent takes up: the lines of its runs in the sample, and about how many bytes its runs have left."""

    agent: str
    title: str
    lines: int
    bytes: int


@dataclass(frozen=True, kw_only=True)
class Day:
    """What was written on a day: runs that began, and lines of the log."""

    day: datetime.date
    runs: int
    lines: int


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How much was written a day, over so many days."""

    days: float
    runs: float
    lines: float


@dataclass(frozen=True, kw_only=True)
class Storage:
    """What was found; the sum of `kinds` is the size of the database."""

    at: datetime.datetime
    bytes: int
    kinds: tuple[Kind, ...]
    lines: int  # about
    contents: int  # about: of the log, what its lines say
    agents: tuple[Share, ...]
    sampled: int
    every: bool  # the sample is the whole log
    days: tuple[Day, ...]
    paces: tuple[Pace, ...]  # of the last week and the last month

    @property
    def a_line(self) -> float:
        """Return how many bytes one line has taken up so far, with all that is kept beside it."""
        return self.bytes / self.lines if self.lines else 0.0


_lock = threading.Lock()
_last: dict[str, tuple[float, Storage]] = {}


def look() -> Storage:
    """Return what the database holds, as somebody found it in the last minutes. Refuses DatabaseError."""
    with _lock:  # who comes meanwhile waits for the same look
        at, found = _last.get("", (float("-inf"), None))
        if found is None or time.monotonic() >= at + KEEP:
            found = find()
            _last[""] = time.monotonic(), found
        return found


def find() -> Storage:
    """Return what the database holds now: eight statements, whatever it is. Refuses DatabaseError."""
    with connection.cursor() as cursor:
        cursor.execute(_SERVER)
        now, size, blocks = cursor.fetchone()
        cursor.execute(_TABLES)
        tables = {str(row[0]): [int(number) for number in row[1:]] for row in cursor.fetchall()}
        part = min(1.0, BLOCKS / blocks)
        cursor.execute(_AGENTS, [part * 100])
        rows = cursor.fetchall()
    sampled, said = (sum(int(row[place]) for row in rows) for place in (2, 3))
    lines = tables["runs_entry"][0] if part < 1 else sampled
    if lines < sampled:  # the server has not counted yet, as after it was restored
        lines = int(sampled / part)
    kinds = tuple(_kinds(tables, size))
    contents = int(said * lines / max(1, sampled))
    days, paces = _growth(now)
    return Storage(
        at=now,
        bytes=size,
        kinds=kinds,
        lines=lines,
        contents=contents,
        agents=_shares(rows, sum(kind.bytes for kind in kinds if kind.of_runs), lines, contents),
        sampled=sampled,
        every=part == 1,
        days=days,
        paces=paces,
    )


def _kinds(tables: dict[str, list[int]], size: int) -> list[Kind]:
    found = []
    for group in GROUPS:
        figures = [tables[table._meta.db_table] for table in group.tables]
        rows, total, indexes, apart = (sum(column) for column in zip(*figures, strict=True))
        found.append(
            Kind(
                name=group.name,
                key=group.key,
                bytes=total,
                indexes=indexes,
                apart=apart,
                rows=rows,
                of_runs=group.of_runs,
            )
        )
    found.sort(key=lambda kind: -kind.bytes)
    rest = size - sum(kind.bytes for kind in found)
    return [*found, Kind(name=OTHER, key="other", bytes=max(0, rest))]


def _shares(rows: Sequence[Any], every: int, lines: int, contents: int) -> tuple[Share, ...]:
    """Divide what runs have left: contents by what the sample has of them, the rest by lines; the largest first."""
    sampled = sum(int(row[2]) for row in rows)
    shares = [
        Share(
            agent=row[0],
            title=row[1],
            lines=int(row[2]),
            bytes=int((int(row[3]) * lines + int(row[2]) * max(0, every - contents)) / sampled),
        )
        for row in rows
    ]
    return tuple(sorted(shares, key=lambda share: (-share.bytes, share.agent)))


def _growth(now: datetime.datetime) -> tuple[tuple[Day, ...], tuple[Pace, ...]]:
    """Return what was written on each of the last days, and a day over the last week and month.

    A site that is younger is asked for as long as it has been there.
    """
    today = timezone.localtime(now).date()
    days = [today - datetime.timedelta(days=back) for back in range(DAYS - 1, -1, -1)]
    first = models.Run.objects.order_by("pk").values_list("created_at", flat=True).first() or now
    age = max((now - first) / datetime.timedelta(days=1), 0.0)
    spans = [min(float(span), age) for span in (7, DAYS)]
    moments = [_start(day) for day in days] + [now - datetime.timedelta(days=span) for span in spans] + [now]
    runs, lines = _counted(_written("runs_run", moments)), _written("runs_entry", moments)
    dense = _dense(lines[0], lines[-1])
    lines = [round(number * dense) for number in lines]
    ends = [*runs[1:DAYS], runs[-1]], [*lines[1:DAYS], lines[-1]]
    return (
        tuple(
            Day(day=day, runs=ends[0][index] - runs[index], lines=ends[1][index] - lines[index])
            for index, day in enumerate(days)
        ),
        tuple(
            Pace(
                days=span,
                runs=(runs[-1] - runs[DAYS + index]) / (span or 1),
                lines=(lines[-1] - lines[DAYS + index]) / (span or 1),
            )
            for index, span in enumerate(spans)
        ),
    )


def _dense(low: int, high: int) -> float:
    """Return which part of the numbers from `low` up to `high` are those of lines, from a few windows of them."""
    with connection.cursor() as cursor:
        cursor.execute(_DENSE, {"low": low, "high": high})
        found, given = cursor.fetchone()
    return int(found) / int(given) if given else 1.0


def _counted(numbers: Sequence[int]) -> list[int]:
    """Return how many runs have numbers below each of these: after a restore they go on far behind."""
    ordered = sorted(set(numbers))
    with connection.cursor() as cursor:
        cursor.execute(_BETWEEN, [ordered[:-1], ordered[1:]])
        counts = itertools.accumulate((int(row[0]) for row in cursor.fetchall()), initial=0)
    below = dict(zip(ordered, counts, strict=True))
    return [below[number] for number in numbers]


def _written(table: str, moments: Sequence[datetime.datetime]) -> list[int]:
    """Return for each moment, in the order given, the first number of the table that was given at it or later."""
    with connection.cursor() as cursor:
        cursor.execute(_WRITTEN.format(table=table), [sorted(moments)])
        found = dict(zip(sorted(moments), (int(row[0]) for row in cursor.fetchall()), strict=False))
    return [found[moment] for moment in moments]


def _start(day: datetime.date) -> datetime.datetime:
    return datetime.datetime.combine(day, datetime.time.min, tzinfo=timezone.get_current_timezone())
