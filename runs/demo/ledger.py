"""The demo's ledger: a separate SQLite file, so that what really happened can be seen from outside.

It has no unique key on purpose. Nothing but the engine keeps a fee from being posted twice, and a doubled one
would be plain to see.
"""

from __future__ import annotations

import contextlib
import datetime
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path

_TABLE = """
CREATE TABLE IF NOT EXISTS late_fee (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL,
    invoice_no TEXT NOT NULL,
    customer TEXT NOT NULL,
    amount TEXT NOT NULL,
    currency TEXT NOT NULL,
    period TEXT NOT NULL,
    posted_at TEXT NOT NULL
)
"""


class NotPosted(RuntimeError):
    """Nothing was posted, for sure; the message is one sentence."""


@dataclass(frozen=True, kw_only=True)
class Fee:
    """One late fee. The amount is an exact decimal as text."""

    invoice_no: str
    customer: str
    amount: str
    currency: str
    period: str


@dataclass(frozen=True, kw_only=True)
class Balance:
    """What an invoice was charged so far."""

    total: str
    entries: int


def post(path: Path, key: str, fee: Fee, *, timeout: float) -> int:
    """Return the number of the new row.

    Refuses (NotPosted) what fails before the commit, since then there is no row. A failing commit is unknown
    and raised as it is.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=timeout, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise NotPosted(f"The ledger can't be opened: {error}.") from error
    with contextlib.closing(connection):
        try:
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(_TABLE)
            cursor = connection.execute(
                "INSERT INTO late_fee (key, invoice_no, customer, amount, currency, period, posted_at)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (
                    key,
                    fee.invoice_no,
                    fee.customer,
                    fee.amount,
                    fee.currency,
                    fee.period,
                    datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                ),
            )
        except sqlite3.Error as error:
            raise NotPosted(f"The ledger refused the fee: {error}.") from error
        connection.execute("COMMIT")
        return int(cursor.lastrowid or 0)


def find(path: Path, keys: Sequence[str]) -> int | None:
    """Return the number of the first row under one of the keys, or None."""
    with _reading(path) as connection:
        if connection is None:
            return None
        marks = ",".join("?" * len(keys))
        query = f"SELECT min(id) FROM late_fee WHERE key IN ({marks})"  # noqa: S608 - question marks only
        found = connection.execute(query, list(keys)).fetchone()[0]
    return None if found is None else int(found)


def row(path: Path, key: str) -> Fee | None:
    """Return the first row under the key, or None."""
    columns = [field.name for field in fields(Fee)]
    with _reading(path) as connection:
        if connection is None:
            return None
        query = f"SELECT {', '.join(columns)} FROM late_fee WHERE key = ? ORDER BY id"  # noqa: S608 - our own names
        found = connection.execute(query, [key]).fetchone()
    return None if found is None else Fee(**dict(zip(columns, found, strict=True)))


def balance(path: Path, invoice_no: str) -> Balance:
    """Return what the invoice was charged so far, summed exactly."""
    with _reading(path) as connection:
        if connection is None:
            return Balance(total="0.00", entries=0)
        rows = connection.execute(
            "SELECT amount FROM late_fee WHERE invoice_no = ?", (invoice_no,)
        ).fetchall()
    return Balance(total=str(sum((Decimal(row[0]) for row in rows), Decimal("0.00"))), entries=len(rows))


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[sqlite3.Connection | None]:
    """Give a connection that can only read, or None while there is no ledger."""
    if not path.exists():
        yield None
        return
    with contextlib.closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
        tables = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'late_fee'").fetchone()
        yield connection if tables else None
