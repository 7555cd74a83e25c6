"""How the site stands, in figures: one look, a fixed number of short statements whatever is stored.

Processes are counted by their connections, which the database knows by name; nothing is written for it.
"""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.db import connection
from django.db.models import Count, F, Min, Q, Sum
from django.db.models.functions import Coalesce

from runs import hints, lifecycle, models
from runs.models import dues
from runs.models.fields import values

ROLES = ("web", "worker", "clock")
OPEN_RUNS = (lifecycle.Run.QUEUED, lifecycle.Run.RUNNING, lifecycle.Run.WAITING, lifecycle.Run.PAUSED)
SHOWN = 8
HOUR = datetime.timedelta(hours=1)
KEEP = 1.0
"""Seconds for which one look answers everybody who asks."""
_CONNECTIONS = """
SELECT application_name, count(*), extract(epoch FROM clock_timestamp() - max(state_change)),
  max(extract(epoch FROM clock_timestamp() - xact_start))
FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() GROUP BY application_name
"""
_SERVER = """
SELECT clock_timestamp(), current_setting('server_version'), current_setting('max_connections')::int,
  pg_database_size(current_database())
"""


@dataclass(frozen=True, kw_only=True)
class Due:
    """The runs of one agent that nobody has taken up yet."""

    agent: str
    title: str
    count: int
    oldest: float


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A run whose worker is lost: its lease ran out so many seconds ago."""

    run_id: int
    title: str
    seconds: float
    attempts: int


@dataclass(frozen=True, kw_only=True)
class Questions:
    """The open questions of one kind."""

    kind: str
    tier: int | None
    count: int
    oldest: float
    overdue: int


@dataclass(frozen=True, kw_only=True)
class Gauges:
    """What was found; seconds are None where there is nothing to measure."""

    at: datetime.datetime
    version: str
    most_connections: int
    bytes: int
    connections: Mapping[str, int] = field(default_factory=dict)
    clock: float | None = None
    transaction: float = 0.0
    broker: int | None = None  # wake-ups that wait there; None: it doesn't answer
    runs: Mapping[str, int] = field(default_factory=dict)
    due: tuple[Due, ...] = ()
    lost: tuple[Claim, ...] = ()
    questions: tuple[Questions, ...] = ()
    deliveries: Mapping[str, int] = field(default_factory=dict)
    delivery_oldest: float = 0.0
    ended: Mapping[str, int] = field(default_factory=dict)  # in the last hour
    used: Mapping[str, int] = field(default_factory=dict)  # by runs that ended in the last hour
    paused: tuple[str, ...] = ()
    halted: bool = False

    @property
    def due_count(self) -> int:
        """How many runs are due."""
        return sum(row.count for row in self.due)

    @property
    def due_oldest(self) -> float:
        """For how many seconds the oldest of them has been."""
        return max((row.oldest for row in self.due), default=0.0)


_lock = threading.Lock()
_last: dict[str, tuple[float, Gauges]] = {}


def look() -> Gauges:
    """Return how the site stands, as somebody found it in the last second. Refuses DatabaseError."""
    with _lock:
        at, found = _last.get("", (float("-inf"), None))
        if found is None or time.monotonic() >= at + KEEP:
            found = find()
            _last[""] = time.monotonic(), found
        return found


def find() -> Gauges:
    """Return how the site stands now. Refuses DatabaseError."""
    with connection.cursor() as cursor:
        cursor.execute(_SERVER)
        now, version, most, size = cursor.fetchone()
        cursor.execute(_CONNECTIONS)
        rows = cursor.fetchall()
    ours = {str(name): (int(count), float(idle or 0.0)) for name, count, idle, _ in rows}
    clock = ours.get("ckptsite clock")
    installation = models.Installation.objects.get(pk=1)
    # Pending and dead ones have an index each; both together have none.
    dead = _counted(models.Delivery.objects.filter(status="dead"), "status")
    pending = models.Delivery.objects.filter(status="pending").aggregate(
        count=Count("pk"),
        oldest=Min("next_at", filter=Q(next_at__lte=now)),  # others are gathered, or tried again later
    )
    return Gauges(
        at=now,
        version=str(version).split(" ")[0],
        most_connections=most,
        bytes=size,
        connections={role: ours.get(f"ckptsite {role}", (0, 0.0))[0] for role in ROLES}
        | {"all": sum(count for count, _ in ours.values()) + 1},
        clock=None if clock is None else max(0.0, clock[1]),
        transaction=max((float(open_for) for *_, open_for in rows if open_for), default=0.0),
        broker=hints.queued(),
        runs=_counted(models.Run.objects.filter(status__in=OPEN_RUNS), "status"),
        due=_due(now),
        lost=_lost(now),
        questions=_questions(now),
        deliveries={"pending": pending["count"], **dead},
        delivery_oldest=_since(now, pending["oldest"]),
        paused=tuple(sorted(installation.switches)),
        halted=installation.halted,
        **_lately(now),
    )


def _counted(rows: Any, name: str) -> dict[str, int]:
    return dict(rows.order_by().values_list(name).annotate(Count("pk")))


def _since(now: datetime.datetime, then: datetime.datetime | None) -> float:
    return 0.0 if then is None else max(0.0, (now - then).total_seconds())


def _due(now: datetime.datetime) -> tuple[Due, ...]:
    rows = models.Run.objects.filter(dues.due(now)).order_by()
    found = rows.values(
        agent=F("agent_version__agent__name"), known_as=F("agent_version__agent__title")
    ).annotate(count=Count("pk"), since=Min(Coalesce("wake_at", "lease_until")))
    return tuple(
        Due(agent=row["agent"], title=row["known_as"], count=row["count"], oldest=_since(now, row["since"]))
        for row in found.order_by("-count", "agent")
    )


def _lost(now: datetime.datetime) -> tuple[Claim, ...]:
    rows = models.Run.objects.filter(status=lifecycle.Run.RUNNING, lease_until__lt=now).order_by(
        "lease_until"
    )
    return tuple(
        Claim(run_id=row.pk, title=row.title, seconds=_since(now, row.lease_until), attempts=row.attempts)
        for row in rows.only("title", "lease_until", "attempts")[:SHOWN]
    )


def _questions(now: datetime.datetime) -> tuple[Questions, ...]:
    rows = models.Review.objects.filter(status=lifecycle.Review.OPEN).order_by()
    found = rows.values("kind", "tier").annotate(
        count=Count("pk"), since=Min("opened_at"), overdue=Count("pk", filter=Q(due_at__lt=now))
    )
    return tuple(
        Questions(
            kind=row["kind"],
            tier=row["tier"],
            count=row["count"],
            oldest=_since(now, row["since"]),
            overdue=row["overdue"],
        )
        for row in found.order_by("kind", "tier")
    )


def _lately(now: datetime.datetime) -> dict[str, dict[str, int]]:
    rows = models.Run.objects.filter(
        ended_at__gt=now - HOUR, status__in=values(lifecycle.RUN_ENDED)
    ).order_by()
    used = rows.aggregate(
        tokens_in=Sum("tokens_in"), tokens_out=Sum("tokens_out"), cost_micro=Sum("cost_micro")
    )
    return {
        "ended": _counted(rows, "status"),
        "used": {name: int(value or 0) for name, value in used.items()},
    }
