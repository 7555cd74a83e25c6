"""Requests of programs under their idempotency keys: each is carried out once, however often it is sent.

1. `claim` commits the row before anything else. Who comes meanwhile with the same key is told to wait.
2. The act's own transaction marks the row as done (`marking`), or nothing at all has happened.
3. `keep` stores the answer, and whoever comes again gets it.

Died between 1 and 2: after a minute a repetition takes the claim over; the mark names the attempt, so only one of both
commits. Died between 2 and 3: the answer is made again from the run that the mark names. What was refused did nothing,
so its row goes, and the key is free for what is right.
"""

from __future__ import annotations

import datetime

from runs import exact, models
from runs.transitions import clock_time
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, Stale

IN_FLIGHT = datetime.timedelta(seconds=60)
"""After this nobody is at work on a claim any more: statements end after 30 seconds."""
KEPT = datetime.timedelta(hours=24)
BATCH = 1_000


class InFlight(Stale):
    """The same request is being carried out just now."""


class OtherRequest(Invalid):
    """The key was used for another request."""


def claim(token: models.ApiToken, *, key: str, request: str) -> models.ApiCall:
    """Return the row of this key: claimed for the caller, or `done` already by an earlier one.

    Refuses OtherRequest where the key stands for another request, and InFlight while it is being carried out.
    """
    with committing("api_claim"):
        row, made = models.ApiCall.objects.get_or_create(token=token, key=key, defaults={"request": request})
        if made:
            return row
        row = models.ApiCall.objects.select_for_update(no_key=True).get(pk=row.pk)
        if row.request != request:
            raise OtherRequest("This Idempotency-Key was used for another request; take a new one.")
        if row.done:
            return row
        now = clock_time.now()
        if now < row.claimed_at + IN_FLIGHT:
            raise InFlight("This request is being carried out; ask again for its answer in a moment.")
        row.attempt, row.claimed_at = row.attempt + 1, now
        row.save(update_fields=["attempt", "claimed_at"])
        return row


def keep(call: models.ApiCall, *, code: int, body: str) -> None:
    """Store the answer for whoever comes again."""
    rows = models.ApiCall.objects.filter(pk=call.pk, attempt=call.attempt, code__isnull=True)
    rows.update(done=True, code=code, body=body)


def release(call: models.ApiCall) -> None:
    """Free the key of a request that did nothing."""
    models.ApiCall.objects.filter(pk=call.pk, attempt=call.attempt, done=False).delete()


def single_use(call: models.ApiCall) -> str:
    """Return the single-use token of the act: what a form carries on a page. It outlives the row."""
    return exact.link("api", call.token_id, call.key)


def forget() -> int:
    """Return how many rows were forgotten, a day after they were claimed: the clock's."""
    old = models.ApiCall.objects.filter(claimed_at__lt=clock_time.now() - KEPT).order_by("claimed_at")
    found = list(old.values_list("pk", flat=True)[:BATCH])
    if not found:
        return 0
    with committing("api_forget"):
        return models.ApiCall.objects.filter(pk__in=found).delete()[0]
