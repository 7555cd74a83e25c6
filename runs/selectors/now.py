"""The database's clock in a query, and amounts as pages show them."""

from __future__ import annotations

import decimal

from django.db.models import DateTimeField, Func


class ClockNow(Func):
    """The database's wall clock at this moment."""

    template = "clock_timestamp()"
    output_field = DateTimeField()


def dollars(micro: int, *, known: bool) -> decimal.Decimal | None:
    """Return an amount kept in millionths; None where a price was unknown."""
    return decimal.Decimal(micro) / 1_000_000 if known else None
