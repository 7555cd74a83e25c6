"""The database's clock: the only one that leases, deadlines and expiry are judged by."""

from __future__ import annotations

import datetime

from runs.models import columns, wire


def now() -> datetime.datetime:
    """Return the database's wall clock at this moment (not the start of the transaction)."""
    return told(wire.execute(*ASKED.statement))


def told(rows: list[wire.Row]) -> datetime.datetime:
    """Return the time that an answer to `ASKED` tells."""
    ((moment,),) = rows
    assert moment is not None
    return columns.moment(moment)


ASKED = columns.Asked(statement=("SELECT clock_timestamp()", ()), read=lambda rows: told(rows))  # noqa: PLW0108 tests move it
"""The same as a question that goes together with others; behind one that waits for a lock it is told after the wait."""


def seconds(value: float) -> datetime.timedelta:
    """Return `value` seconds."""
    return datetime.timedelta(seconds=value)
