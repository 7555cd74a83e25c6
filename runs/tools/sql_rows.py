"""Rows of a database as exact JSON and as CSV. Pure."""

from __future__ import annotations

import csv
import datetime
import decimal
import io
import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, kw_only=True)
class Rows:
    """What a statement gave back, and how many rows it was about."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    affected: int = 0
    cut: bool = False


def rows(columns: tuple[str, ...], found: list[Any], most: int, affected: int) -> Rows:
    """Return what was fetched, `most` rows of it."""
    kept = tuple(tuple(_plain(value) for value in row) for row in found[:most])
    return Rows(columns=columns, rows=kept, affected=max(affected, 0), cut=len(found) > most)


def _plain(value: Any) -> Any:
    """Return a value as exact JSON can hold it."""
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**53 else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, decimal.Decimal):
        return str(value)
    if isinstance(value, datetime.date | datetime.time):
        return value.isoformat()
    if isinstance(value, bytes | memoryview):
        return f"\\x{bytes(value).hex()}"
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return str(value)


def as_csv(found: Rows) -> bytes:
    """Return the rows as a CSV file with a header line."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(found.columns)
    writer.writerows(found.rows)
    return out.getvalue().encode()
