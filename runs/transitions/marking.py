"""The mark that an act leaves on the request that asked for it, in the act's own transaction."""

from __future__ import annotations

from runs import models
from runs.transitions.actor import Actor
from runs.transitions.refusals import Stale


def done(actor: Actor, run: models.Run | None) -> None:
    """Note that the request was carried out, and on which run; refuse (Stale) one that a repetition has taken over."""
    if actor.call is None:
        return
    mine = models.ApiCall.objects.filter(pk=actor.call.pk, attempt=actor.call.attempt, code__isnull=True)
    if not mine.update(done=True, run=run):
        raise Stale("This request took too long, and a repetition of it has taken over.")
