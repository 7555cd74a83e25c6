"""Comparing the refused attempts to the digests of them in the audit chain."""

from __future__ import annotations

from runs import models
from runs.engine.comparing import Broken
from runs.transitions import attempts


def refusals() -> int:
    """Return how many refused attempts the chain knows; refuse (Broken) the first batch that isn't as it was."""
    count = last = 0
    for event in models.AuditEvent.objects.filter(act=attempts.ANCHORED).order_by("seq").iterator():
        said = event.content
        rows = list(models.Refusal.objects.filter(pk__gt=last, pk__lte=said["last"]).order_by("pk"))
        if not rows or attempts.told(rows) != said:
            raise Broken(f"refusals {said['first']} to {said['last']}: they are not what the audit chain saw")
        count, last = count + len(rows), said["last"]
    return count
