"""How many questions one run, and one agent, may have open at once."""

from __future__ import annotations

from django.conf import settings
from django.db import connection
from django.db.models import Count, Q

from runs import lifecycle, models

KINDS = (lifecycle.ReviewKind.ACTION, lifecycle.ReviewKind.QUESTION)
_LOCK = 0x61736B  # "ask"


def room(run: models.Run) -> int:
    """Return how many more questions this run may open, as it is now; another run of its agent may be quicker."""
    asked = models.Review.objects.filter(status=lifecycle.Review.OPEN, kind__in=KINDS)
    found = asked.filter(run__agent_version__agent=run.agent_version.agent_id).aggregate(
        every=Count("pk"), mine=Count("pk", filter=Q(run=run))
    )
    limits = (
        settings.CKPTSITE["PENDING_RUN"] - found["mine"],
        settings.CKPTSITE["PENDING_AGENT"] - found["every"],
    )
    return max(0, int(min(limits)))


def left(run: models.Run) -> int:
    """Return the same for the caller's transaction, in which the run is locked: until its end no other run of the agent
    opens a question.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [_LOCK, run.agent_version.agent_id % 2**31])
    return room(run)
