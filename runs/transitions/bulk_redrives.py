"""Going on with many failed runs for one reason: one transaction each, and what became of each is told."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runs import lifecycle, models
from runs.models import paths
from runs.transitions import attempts, redrives
from runs.transitions.actor import Actor
from runs.transitions.refusals import Invalid, Refused, Stale

MOST = 25
"""So many at once; the rest comes with the next form."""


@dataclass(frozen=True, kw_only=True)
class Wish:
    """One failed run, the checkpoint that was shown for it, and the token of its line of the form."""

    run_id: int
    checkpoint: int
    token: str


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of one run: the new attempt, or why there is none."""

    run_id: int
    made: models.Run | None = None
    refusal: Refused | None = None


@attempts.noted("run.redrive", "several runs")
def redrive_many(wishes: Sequence[Wish], *, reason: str, by: Actor) -> list[Outcome]:
    """Return what became of each: a refusal of one leaves the others made.

    Sent again, each wish returns the run that its token made, so that what was cut off in the middle is finished by
    sending the same form. Refuses NotYours, and Invalid without a reason, for none and for too many at once.
    """
    redrives.entitled(by)
    reason = redrives.why(reason)
    if not wishes:
        raise Invalid("Choose at least one run.")
    if len(wishes) > MOST:
        raise Invalid(f"{MOST} runs go on at once at most; choose fewer.")
    found = []
    for wish in wishes:
        try:
            found.append(Outcome(run_id=wish.run_id, made=_made(wish, reason=reason, by=by)))
        except Refused as refusal:
            attempts.of_refused(refusal, act="run.redrive", subject=f"run {wish.run_id}", by=by)
            found.append(Outcome(run_id=wish.run_id, refusal=refusal))
    return found


def _made(wish: Wish, *, reason: str, by: Actor) -> models.Run:
    run = models.Run.objects.filter(pk=wish.run_id).first()
    if run is None:
        raise Invalid(f"There is no run {wish.run_id}.")
    fresh = not models.Run.objects.filter(start_token=wish.token).exists()
    if fresh and run.status != lifecycle.Run.FAILED:
        raise Stale("It isn't failed any more; look at it before you go on.")
    if fresh and paths.unsettled_of(run.root_id).exists():
        raise Stale(
            "It isn't known any more whether something of it happened; somebody has to find that out first."
        )
    return redrives.redrive(
        run.pk, checkpoint=wish.checkpoint, reason=reason, by=by, token=wish.token, seen=run.pk
    )
