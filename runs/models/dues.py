"""Which runs a worker may claim now."""

from __future__ import annotations

import datetime

from django.db.models import Q

from runs import lifecycle
from runs.models import paths
from runs.models.installation import Installation
from runs.models.run import FORMAT


def due(now: datetime.datetime) -> Q:
    """Say which runs are due: of a format that this code knows, so that a rolling deploy misreads none.

    A new attempt isn't while what came before it goes on, so that it stands in nobody's way; nor is what an
    administrator has paused, but a run that was cut off is taken over all the same, to find out what happened.
    """
    queued = Q(startable(), status=lifecycle.Run.QUEUED, wake_at__lte=now) & paths.ready()
    lost = Q(status=lifecycle.Run.RUNNING, lease_until__lt=now)
    return (queued | lost) & Q(format__lte=FORMAT)


def startable() -> Q:
    """Return the condition that no switch keeps a queued run from being taken up."""
    installation = Installation.objects.get(pk=1)
    if installation.halted:
        return Q(pk__in=[])
    paused = installation.paused("agent")
    return ~Q(agent_version__agent__name__in=paused) if paused else Q()
