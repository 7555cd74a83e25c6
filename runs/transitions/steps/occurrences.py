"""Which logical effect an action is: the one place that decides between absorbed, blocked, again and new."""

from __future__ import annotations

import datetime
from dataclasses import dataclass

from django.conf import settings

from runs import exact, lifecycle, models
from runs.models import paths
from runs.transitions.steps._statement import Work


@dataclass(frozen=True, kw_only=True)
class Found:
    """What the lineage holds for an identity: at most one of these decides, else a new occurrence gets number `n`."""

    own: models.Occurrence | None = None
    standing: models.Occurrence | None = None
    blocking: models.Occurrence | None = None
    n: int = 0


def find(work: Work, action: models.Action) -> Found:
    """Return what stands in the way of `action`, or lets it go on.

    A standing occurrence that no action on this path owns or absorbed is absorbed (equal arguments first, else the
    lowest number); an open or unknown one blocks; void and undone ones are passed over.
    """
    rows = list(
        models.Occurrence.objects.select_for_update(of=("self",))
        .filter(root_id=work.run.root_id, tool=action.tool, identity_digest=action.identity_digest)
        .select_related("owner")
        .order_by("n")
    )
    for row in rows:
        if row.pk == action.occurrence_id:
            return Found(own=row)
    for row in rows:
        if row.state in {lifecycle.Occurrence.OPEN, lifecycle.Occurrence.UNKNOWN}:
            return Found(blocking=row)
    off_path = [
        row
        for row in rows
        if row.state == lifecycle.Occurrence.STANDING and not paths.uses(work.run.path, work.run.pk, row)
    ]
    if off_path:
        return Found(standing=min(off_path, key=lambda row: (row.owner.digest != action.digest, row.n)))
    return Found(n=max((row.n for row in rows), default=-1) + 1)


def begin(
    work: Work,
    action: models.Action,
    found: Found,
    *,
    attempt: int,
    deadline: datetime.datetime,
    horizon: datetime.datetime,
) -> models.Occurrence:
    """Return the open occurrence of this send: the action's own one again under its key, or a new one."""
    sent = {
        "run": work.run.pk,
        "action": action.pk,
        "attempt": attempt,
        "deadline": deadline.isoformat(),
        "horizon": horizon.isoformat(),
    }
    if found.own is not None:
        row = found.own
        if row.state != lifecycle.Occurrence.OPEN:
            lifecycle.check(lifecycle.OCCURRENCE_MOVES, row.state, lifecycle.Occurrence.OPEN, by="E")
        row.state = lifecycle.Occurrence.OPEN
        row.attempts = [*row.attempts, sent]
        row.horizon = max(row.horizon, horizon)
        row.settled_at = None
        row.save(update_fields=["state", "attempts", "horizon", "settled_at"])
        return row
    return models.Occurrence.objects.create(
        root_id=work.run.root_id,
        tool=action.tool,
        identity=action.identity,
        identity_digest=action.identity_digest,
        declaration=action.declaration,
        n=found.n,
        key=exact.seal(
            settings.KEY_HMAC,
            work.run.root_id,
            action.tool,
            exact.canonical(action.identity, limit=None),
            found.n,
        ),
        state=lifecycle.Occurrence.OPEN,
        owner=action,
        attempts=[sent],
        first_sent_at=work.now,
        horizon=horizon,
    )


def settle(work: Work, occurrence: models.Occurrence | None, state: str, *, receipt: object = None) -> None:
    """Give the occurrence the state that its action's outcome says."""
    assert occurrence is not None
    row = models.Occurrence.objects.select_for_update(of=("self",)).get(pk=occurrence.pk)
    if row.state != state:
        lifecycle.check(lifecycle.OCCURRENCE_MOVES, row.state, state, by="E")
    row.state = state
    if receipt is not None:
        row.receipt = receipt
    row.settled_at = None if state in {lifecycle.Occurrence.OPEN, lifecycle.Occurrence.UNKNOWN} else work.now
    row.save(update_fields=["state", "receipt", "settled_at"])
