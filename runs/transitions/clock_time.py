"""The database's clock: the only one that leases, deadlines and expiry are judged by."""

from __future__ import annotations

import datetime

from django.db import connection


def now() -> datetime.datetime:
    """Return the database's wall clock at this moment (not the start of the transaction)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT clock_timestamp()")
        row = cursor.fetchone()
    assert row is not None
    moment: datetime.datetime = row[0]
    return moment


def seconds(value: float) -> datetime.timedelta:
    """Return `value` seconds."""
    return datetime.timedelta(seconds=value)
