"""The database's clock: the only one that leases, deadlines and expiry are judged by."""

from __future__ import annotations

import datetime

from runs.models import columns, wire


def now() -> datetime.datetime:
    """Return the database's wall clock at this moment (not the start of the transaction)."""
    (told,) = wire.execute("SELECT clock_timestamp()", [])
    assert told[0] is not None
    return columns.moment(told[0])


def seconds(value: float) -> datetime.timedelta:
    """Return `value` seconds."""
    return datetime.timedelta(seconds=value)
