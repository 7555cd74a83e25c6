"""Which logical effect an action is: the one place that decides between absorbed, blocked, again and new."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from django.conf import settings

from runs import exact, lifecycle, models
from runs.models import columns, paths, taken
from runs.models.fresh import fresh
from runs.transitions import audit, undoing
from runs.transitions.actor import ENGINE
from runs.transitions.steps._statement import Work


@dataclass(frozen=True, kw_only=True)
class Found:
    """What the lineage holds for an identity: at most one of these decides, else a new occurrence gets number `n`.

    `others` stand off this path with other arguments: a person says what that means.
    `waived` stands off this path as well, but whoever made this attempt lets it happen once more.
    """

    own: models.Occurrence | None = None
    standing: models.Occurrence | None = None
    blocking: models.Occurrence | None = None
    others: tuple[models.Occurrence, ...] = ()
    waived: models.Occurrence | None = None
    n: int = 0


_TOLD = "(run_id, position) IN (SELECT * FROM unnest($1::bigint[], $2::integer[]))"
_SAME = "root_id = $1 AND tool = $2 AND identity_digest = $3 ORDER BY n FOR NO KEY UPDATE"


def find(work: Work, action: models.Action, *, beside: frozenset[int] = frozenset()) -> Found:
    """Return what stands in the way of `action`, or lets it go on.

    A standing occurrence that no action on this path owns or absorbed is absorbed if its arguments are equal, or if
    the agent proposes just what a person changed into it, or kept it for; with other arguments it is asked about,
    unless it is among those `beside` which a person wants this too. One that may happen once more is waived, once. An
    open or unknown one blocks; void and undone ones are passed over. An undo is done once, on whatever path.
    """
    same = [columns.number(work.run.root_id), action.tool.encode(), columns.digest(action.identity_digest)]
    rows = columns.fetch(models.Occurrence, _SAME, same)
    for row in rows:
        if row.pk == action.occurrence_id:
            return Found(own=row)
    for row in rows:
        if row.state in {lifecycle.Occurrence.OPEN, lifecycle.Occurrence.UNKNOWN}:
            return Found(blocking=row)
    n = max((row.n for row in rows), default=-1) + 1
    standing = [row for row in rows if row.state == lifecycle.Occurrence.STANDING and row.pk not in beside]
    if action.undo_of_id is None:
        standing = paths.off(work.run.path, work.run.pk, standing)
    waived = [row for row in standing if work.run.waivers.get(str(row.pk), 0) is None]
    taken_for = _same(action, standing)
    if taken_for is not None:
        return Found(waived=taken_for, n=n) if taken_for in waived else Found(standing=taken_for, n=n)
    others = tuple(row for row in standing if row not in waived)
    return Found(waived=waived[0] if waived and not others else None, others=others, n=n)


def _same(action: models.Action, standing: list[models.Occurrence]) -> models.Occurrence | None:
    """Return the one of these that the action is, without a question: equal arguments first.

    What a person has changed in this very call is theirs: then only equal arguments count.
    """
    if action.undo_of_id is not None:
        return standing[0] if standing else None
    for row in standing:
        if row.owner.digest == action.digest:
            return row
    if action.revision > 1 or not standing:
        return None
    known = taken.arguments(standing)
    return next((row for row in standing if action.digest in known[row.pk]), None)


def begin(
    work: Work,
    action: models.Action,
    found: Found,
    *,
    horizon: datetime.datetime,
) -> models.Occurrence:
    """Return the open occurrence of this send: the action's own one again under its key, or a new one."""
    if found.own is not None:
        row = found.own
        if row.state != lifecycle.Occurrence.OPEN:
            lifecycle.check(lifecycle.OCCURRENCE_MOVES, row.state, lifecycle.Occurrence.OPEN, by="E")
        row.state = lifecycle.Occurrence.OPEN
        row.horizon = max(row.horizon, horizon)
        row.settled_at = None
        row.first_sent_at = row.first_sent_at or work.now
        work.save(row, "state", "horizon", "settled_at", "first_sent_at")
        return row
    row = fresh(
        models.Occurrence,
        named={"owner": action},
        root_id=work.run.root_id,
        tool=action.tool,
        identity=action.identity,
        identity_digest=action.identity_digest,
        declaration=action.declaration,
        n=found.n,
        key=key_of(work.run.root_id, action.tool, action.identity, found.n),
        state=lifecycle.Occurrence.OPEN,
        first_sent_at=work.now,
        horizon=horizon,
    )
    work.add(row)
    return row


def by_hand(work: Work, action: models.Action, *, receipt_position: int) -> models.Occurrence:
    """Return the standing occurrence of what a person did in the action's place; nothing was sent under its key."""
    same = models.Occurrence.objects.filter(
        root_id=work.run.root_id, tool=action.tool, identity_digest=action.identity_digest
    )
    n = max(same.select_for_update(no_key=True, of=("self",)).values_list("n", flat=True), default=-1) + 1
    return models.Occurrence.objects.create(
        root_id=work.run.root_id,
        tool=action.tool,
        identity=action.identity,
        identity_digest=action.identity_digest,
        declaration=action.declaration,
        n=n,
        key=key_of(work.run.root_id, action.tool, action.identity, n),
        state=lifecycle.Occurrence.STANDING,
        owner=action,
        horizon=work.now,
        receipt_position=receipt_position,
        settled_at=work.now,
    )


def key_of(root_id: int, tool: str, identity: object, n: int, *, epoch: int = 0) -> str:
    """Return the key of an occurrence. It is stored when it is made, and after that only compared."""
    parts = (root_id, tool, exact.text_of(identity), n)
    return exact.seal(settings.KEY_HMAC, *parts, *((epoch,) if epoch else ()))


def next_key(work: Work, occurrence: models.Occurrence) -> int:
    """Give the occurrence a new key, because the provider keeps a failure under this one; return its epoch."""
    row = models.Occurrence.objects.select_for_update(no_key=True, of=("self",)).get(pk=occurrence.pk)
    row.earlier_keys = row.all_keys()
    epoch = len(row.earlier_keys)
    row.key = key_of(row.root_id, row.tool, row.identity, row.n, epoch=epoch)
    row.first_sent_at = None
    row.save(update_fields=["earlier_keys", "key", "first_sent_at"])
    audit.append(
        "occurrence.new_key",
        actor=ENGINE,
        run=work.run,
        subject=f"occurrence {row.pk}",
        content={"epoch": epoch},
    )
    return epoch


def receipt(occurrence: models.Occurrence) -> dict[str, Any]:
    """Return the receipt of a standing occurrence: from the log of its owner's run, or as it was learnt outside."""
    return receipts([occurrence])[occurrence.pk]


def receipts(rows: Iterable[models.Occurrence]) -> dict[int, dict[str, Any]]:
    """Return the receipts of these occurrences by their numbers, as `receipt` does."""
    found, told = {}, {}
    for row in rows:
        if row.receipt is None and row.receipt_position is not None:
            told[row.pk] = (row.owner.run_id, row.receipt_position)
        else:
            found[row.pk] = dict(row.receipt or {})
    if told:
        runs, positions = (columns.numbers(each) for each in zip(*told.values(), strict=True))
        lines = columns.fetch(models.Entry, _TOLD, [runs, positions])
        content = {(line.run_id, line.position): line.content for line in lines}
        found |= {number: dict(content[where]["receipt"]) for number, where in told.items()}
    return found


def settle(
    work: Work,
    occurrence: models.Occurrence | None,
    state: str,
    *,
    receipt_position: int | None = None,
    receipt: object = None,
) -> None:
    """Give the occurrence the state that its action's outcome says; an undo takes what it undoes with it."""
    assert occurrence is not None
    row = work.occurrence(occurrence)
    if row.state != state:
        lifecycle.check(lifecycle.OCCURRENCE_MOVES, row.state, state, by="E")
    row.state = state
    if receipt_position is not None or receipt is not None:
        row.receipt_position, row.receipt = receipt_position, receipt
    row.settled_at = None if state in {lifecycle.Occurrence.OPEN, lifecycle.Occurrence.UNKNOWN} else work.now
    work.save(row, "state", "receipt", "receipt_position", "settled_at")
    undoing.follow(row, by="E")
