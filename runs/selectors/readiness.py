"""Whether work gets done: the oldest run that is due, the clock's last look, the database and the broker."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.db import DatabaseError, connection
from django.db.models import Min
from django.db.models.functions import Coalesce

from runs import hints, models
from runs.models import dues

_CLOCK = """
SELECT clock_timestamp(), extract(epoch FROM clock_timestamp() - max(state_change)) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = %s
"""
"""The clock asks the database something every second, and the database knows when: nothing is written for it."""


@dataclass(frozen=True, kw_only=True)
class Readiness:
    """What was found; seconds are None where there is nothing to measure, or nobody can."""

    database: bool
    due_seconds: float | None = None
    clock_seconds: float | None = None
    broker: bool = False

    @property
    def due(self) -> bool:
        """Whether no run has been due for too long."""
        return self.database and (self.due_seconds or 0.0) <= settings.CKPTSITE["READY_DUE"]

    @property
    def clock(self) -> bool:
        """Whether a clock has looked lately."""
        return self.clock_seconds is not None and self.clock_seconds <= settings.CKPTSITE["READY_CLOCK"]

    @property
    def ready(self) -> bool:
        """Whether every bar is met. Without a broker work goes on, more slowly: it counts only where that is set."""
        return self.database and self.due and self.clock and (self.broker or not broker_needed())


def broker_needed() -> bool:
    """Return whether a site without its broker isn't ready, by the settings."""
    return bool(settings.CKPTSITE["READY_BROKER"])


def find() -> Readiness:
    """Look; a database that doesn't answer is told, not raised."""
    broker = hints.queued() is not None
    try:
        with connection.cursor() as cursor:
            cursor.execute(_CLOCK, ["ckptsite clock"])
            now, clock = cursor.fetchone()
        oldest = models.Run.objects.filter(dues.due(now)).aggregate(
            since=Min(Coalesce("wake_at", "lease_until"))
        )["since"]
    except DatabaseError:
        return Readiness(database=False, broker=broker)
    return Readiness(
        database=True,
        due_seconds=None if oldest is None else (now - oldest).total_seconds(),
        clock_seconds=None if clock is None else max(0.0, float(clock)),
        broker=broker,
    )
