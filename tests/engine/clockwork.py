"""Moving the database's clock for tests: everything judges time through runs.transitions.clock_time."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from runs.models import wire
from runs.transitions import clock_time


@contextmanager
def ahead(*, hours: float) -> Iterator[None]:
    """Let the database's clock be ahead while the block runs."""
    real = clock_time.told

    def later(rows: list[wire.Row]) -> datetime.datetime:
        return real(rows) + datetime.timedelta(hours=hours)

    with mock.patch.object(clock_time, "told", later):
        yield
