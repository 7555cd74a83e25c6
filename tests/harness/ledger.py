"""What stands in the world against what the record says, occurrence by occurrence, over the whole lineage."""

from __future__ import annotations

import datetime
from collections import defaultdict
from typing import Any

from runs import exact, lifecycle, models

Occurrence = lifecycle.Occurrence


def effects(run: models.Run, facts: dict[str, Any]) -> list[str]:
    """I1: an occurrence stands once where the record says that it stands, never where it says that it doesn't.

    What stands is owned or absorbed by an action, or was kept, and wasn't undone; an undone effect is in the world
    beside the undo that took it back. Nothing stands under a key that nobody minted.
    """
    rows = {
        row.key: row for row in models.Occurrence.objects.filter(root_id=run.root_id).select_related("owner")
    }
    given_up = models.Decision.objects.filter(
        review__run__root_id=run.root_id, review__kind=lifecycle.ReviewKind.IN_DOUBT, verdict="unknown"
    ).count()  # what can't be known may be done again, if a person wants it so
    found = []
    for name, seen in facts.items():
        counts: dict[str, int] = defaultdict(int)
        for done in seen["applied"]:
            counts[done["key"]] += 1
        mine = [row for row in rows.values() if row.identity_digest == exact.digest_of({"name": name})]
        found += [f"untrue: {name} stands under a key of no occurrence" for key in counts if key not in rows]
        for row in mine:
            found += _one(name, row, counts[row.key])
        undone = sum(row.state == Occurrence.UNDONE for row in mine)
        if sum(counts.values()) > 1 + given_up + undone + _wanted_too(run, mine):
            found.append(f"doubled: {name} stands {sum(counts.values())} times in the world")
    found += [
        f"contradicted: occurrence {row.pk} is {row.state}, and was something else" for row in rows.values()
        if row.contradicted
    ]  # fmt: skip
    return found


def _wanted_too(run: models.Run, mine: list[models.Occurrence]) -> int:
    """Return how often people released the same with other arguments, having seen that it was done before."""
    owners = models.Action.objects.filter(pk__in=[row.owner_id for row in mine])
    used = models.Review.objects.filter(run__root_id=run.root_id, consumed_by__in=owners)
    return sum(bool((review.content or {}).get("beside")) for review in used)


def _one(name: str, row: models.Occurrence, count: int) -> list[str]:
    if count > 1:
        return [f"doubled: occurrence {row.n} of {name} was carried out {count} times"]
    wanted = {
        Occurrence.STANDING: (1,),
        Occurrence.VOID: (0,),
        Occurrence.UNKNOWN: (0, 1),
        Occurrence.OPEN: (0, 1),
        Occurrence.UNDONE: (1,),
    }
    if count not in wanted.get(Occurrence(row.state), (0, 1)):
        return [f"untrue: occurrence {row.n} of {name} is {row.state}, and stands {count} times in the world"]
    undos = models.Occurrence.objects.filter(owner__undo_of=row, state=Occurrence.STANDING).count()
    if undos != (row.state == Occurrence.UNDONE):
        return [f"untrue: occurrence {row.n} of {name} is {row.state}, and {undos} undos of it stand"]
    used = models.Action.objects.filter(occurrence=row, status__in=("succeeded", "absorbed")).exists()
    if row.state == Occurrence.STANDING and not used and row.owner.status != lifecycle.Action.ABANDONED:
        return [f"untrue: occurrence {row.n} of {name} stands, and no action owns or absorbed it"]
    return []


def asked(run: models.Run) -> list[str]:
    """I7: a person is asked only where a machine could not find out; and always where nothing else could.

    Look-up: not before the horizon. Same key: not while its window is open, unless it may not be sent again.
    """
    found = []
    last: dict[int, Any] = {}
    actions = {
        (row.reply_position, row.call_index): row
        for row in models.Action.objects.filter(run=run).select_related("occurrence")
    }
    for line in models.Entry.objects.filter(run=run).order_by("position"):
        call = line.content.get("call")
        action = actions.get((call[0], call[1])) if call else None
        if action is None:
            continue
        if line.kind == lifecycle.EntryKind.INTENT:
            last[action.pk] = line
        elif line.kind == lifecycle.EntryKind.VERDICT and line.content["verdict"] == "in_doubt":
            found += _too_soon(run, action, line, last[action.pk])
        elif line.kind == lifecycle.EntryKind.RECEIPT and action.protection == "unprotected":
            found += _guessed(action, line)
    return found


def _too_soon(
    run: models.Run, action: models.Action, asked_at: models.Entry, intent: models.Entry
) -> list[str]:
    horizon = datetime.datetime.fromisoformat(intent.content["horizon"])
    settled_by_gate = "may not be sent again" in asked_at.content["reason"]
    if action.protection == "lookup" and asked_at.created_at < horizon:
        return [f"asked too soon: action {action.pk} can be looked up, and its horizon had not come"]
    if action.protection == "idempotent" and not settled_by_gate and run.stop_at is None:
        assert action.occurrence is not None
        assert action.occurrence.first_sent_at is not None
        open_until = action.occurrence.first_sent_at + datetime.timedelta(hours=0.9)
        may_send = intent.content["attempt"] < 3 and not _withheld(run, asked_at.created_at)
        if asked_at.created_at < open_until and may_send:
            return [f"asked too soon: action {action.pk} could be sent again under its key"]
    return []


def _withheld(run: models.Run, at: datetime.datetime) -> bool:
    """Whether people had paused this run or everything: no send passes the gate then, only looking is left (2.9)."""
    before = models.AuditEvent.objects.filter(at__lte=at).order_by("-seq")
    own = before.filter(run=run, act__in=("run.paused", "run.resumed")).first()
    all_runs = before.filter(act__in=("switch.off", "switch.on")).first()
    return (own is not None and own.act == "run.paused") or (
        all_runs is not None and all_runs.act == "switch.off"
    )


def _guessed(action: models.Action, receipt: models.Entry) -> list[str]:
    """Nobody but the request itself, evidence of it, or a person knows what came of an unprotected effect."""
    content = receipt.content
    if content["source"] not in {"run", "evidence", "person"}:
        return [
            f"guessed: action {action.pk} is unprotected, and {content['source']} says {content['outcome']}"
        ]
    return []
