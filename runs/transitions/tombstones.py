"""What a tombstone says: how the run ended, what it had used, and a digest of every row that stays."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from django.db.models import Q

from runs import exact, models
from runs.models import tombstone
from runs.transitions import clock_time

RUN = (
    "pk", "root_id", "parent_id", "handed_by_id", "superseded_by_id", "agent_version_id", "pins_id", "created_by_id",
    "mode", "status", "path", "labels", "input_digest", "start_token", "position", "head", "checkpoint_number",
    "plan_version", "approved_plan", "begun", "waivers", "budget", "steps", "calls", "tokens_in", "tokens_out",
    "cost_micro", "cost_known", "active_seconds", "created_at", "ended_at",
)  # fmt: skip
ACTION = (
    "pk", "run_id", "reply_position", "call_index", "step", "tool", "contract", "effect", "tier", "protection",
    "status", "revision", "digest", "identity_digest", "declaration", "proposed_identity", "verdict", "rule", "terms",
    "policy_version_id", "approval_digest", "undo_of_id", "occurrence_id", "attempt", "evidence_number",
    "receipt_position",
)  # fmt: skip
REVIEW = (
    "pk", "action_id", "kind", "status", "revision", "digest", "evidence_number", "tier", "policy_version_id",
    "tightened", "votes", "quorum", "groups", "separation", "reason_required", "answer", "alone_by_id",
    "consumed_by_id", "account_id",
)  # fmt: skip
OCCURRENCE = (
    "pk", "root_id", "tool", "identity_digest", "declaration", "n", "key", "state", "owner_id", "earlier_keys",
    "first_sent_at", "horizon", "receipt_position", "verification", "contradicted",
)  # fmt: skip


def content(
    run: models.Run, part: str, *, days: int, cut: list[Any], books: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what the tombstone of this part says.

    `cut` are head, position and checkpoint from which the run's own lines go on; `books` is what its log says that it
    has used, and of whose account.
    """
    return {
        "at": _plain(clock_time.now()),
        "days": days,
        "head": run.head,
        "position": run.position,
        "checkpoints": run.checkpoint_number,
        "status": run.status,
        "cut": cut,
        "books": books,
        "kept": kept(run, part),
    }


def digest(row: models.Tombstone) -> str:
    """Return the digest by which the audit chain names the tombstone."""
    return exact.digest_of([row.run_id, row.part, row.content])


def kept(run: models.Run, part: str) -> str:
    """Return the digest of what stays of a run once this part is gone; it is the same before, meanwhile and after."""
    gone = part == tombstone.Tombstone.Part.RECEIPTS
    actions = asked(run) if gone else models.Action.objects.filter(run=run)
    found: list[Any] = [
        [_plain(getattr(run, name)) for name in RUN],
        _rows(models.Review.objects.filter(run=run), REVIEW),
        _rows(actions, ACTION),
    ]
    if not gone and run.root_id == run.pk:
        rows = models.Occurrence.objects.filter(root=run)
        found += [_rows(rows, OCCURRENCE), receipts(rows)]
    return exact.digest_of(found)


def asked(run: models.Run) -> Any:
    """Return the run's actions that people were asked about, or whose approval they used: these stay."""
    used = models.Review.objects.filter(consumed_by__run=run).values("consumed_by")
    return models.Action.objects.filter(Q(reviews__isnull=False) | Q(pk__in=used), run=run).distinct()


def receipts(rows: Any) -> list[list[Any]]:
    """Return the number of each effect that has a receipt, with the digest of that receipt or what stays of it."""
    effects = list(rows.order_by("pk").values_list("pk", "receipt", "receipt_position", "owner__run"))
    places: dict[int, list[int]] = {}
    for _, known, position, run in effects:
        if known is None and position is not None:
            places.setdefault(run, []).append(position)
    wanted = Q(pk__in=())
    for run, positions in places.items():
        wanted |= Q(run=run, position__in=positions)
    lines = models.Entry.objects.filter(wanted).values_list("run", "position", "content")
    said = {(run, position): text for run, position, text in lines}
    found = []
    for pk, known, position, run in effects:
        if known is None and position is not None:
            known = said.get((run, position), {}).get("receipt")  # noqa: PLW2901 where it stands in the log
        if known is not None:
            found.append([pk, tombstone.digest_left(known) or exact.digest_of(known)])
    return found


def _rows(rows: Any, names: tuple[str, ...]) -> list[list[Any]]:
    return [[_plain(value) for value in row] for row in rows.order_by("pk").values_list(*names)]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime):
        return value.astimezone(datetime.UTC).isoformat(timespec="microseconds")
    return repr(value) if isinstance(value, float) else value
