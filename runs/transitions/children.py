"""What goes between a run and those that it handed work to: an end upwards, a stop downwards.

A child's end is late evidence about its parent's action: the parent's next turn closes the call with it. The clock
looks for what hasn't been passed on, so nothing rests on anybody's doing it at once.
"""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, Q

from runs import lifecycle, models
from runs.models.fields import values
from runs.transitions import evidence, holds, inbox
from runs.transitions.committing import committing

SOURCE = "child"
BATCH = 50


def _asked() -> Exists:
    """Return the condition that somebody is still asked what becomes of a failed run."""
    asked = models.Review.objects.filter(
        run=OuterRef("pk"), kind=lifecycle.ReviewKind.FAILURE, status=lifecycle.Review.OPEN
    )
    return Exists(asked)


def give_back() -> int:
    """Return how many children that are closed for good were given back to their parents."""
    final = Q(status__in=values(lifecycle.RUN_FINAL))
    left = Q(status=lifecycle.Run.FAILED) & ~_asked()
    found = models.Run.objects.filter(
        final | left, parent__isnull=False, returned=False, superseded_by__isnull=True
    )
    return sum(_give_back(pk) for pk in list(found.order_by("pk").values_list("pk", flat=True)[:BATCH]))


def _give_back(child_id: int) -> bool:
    owner = models.Action.objects.get(owned_occurrences__handed=child_id)
    with committing("child_returned"):
        parent = inbox.lock(owner.run_id)
        # Never waited for: a re-drive that holds the child needs its parent's row for the next attempt.
        child = inbox.try_lock(child_id)
        if child is None:
            return False
        if child.returned or child.superseded_by_id is not None or child.status not in lifecycle.RUN_ENDED:
            return False
        child.returned = True
        child.save(update_fields=["returned"])
        happened = child.status == lifecycle.Run.SUCCEEDED
        outcome = models.Evidence.Outcome.HAPPENED if happened else models.Evidence.Outcome.DID_NOT_HAPPEN
        evidence.leave(
            parent, owner.pk, attempt=owner.attempt, outcome=outcome, source=SOURCE, content=_told(child)
        )
        return True


def _told(child: models.Run) -> dict[str, Any]:
    """Return how a child ended, as the receipt of its parent's call."""
    if child.status == lifecycle.Run.SUCCEEDED:
        end = (
            models.Entry.objects.filter(run=child, kind=lifecycle.EntryKind.END).order_by("-position").first()
        )
        result = end.content.get("result") if end is not None else None
        return {"summary": child.summary, "value": {"run": child.pk, "result": result}}
    if child.status == lifecycle.Run.CANCELLED:
        why = f"Run {child.pk} was stopped: {child.stop_reason}"
    else:
        why = f"Run {child.pk} failed: {child.error}"
    return {"summary": why, "reason": why, "run": child.pk}


def stop_below() -> int:
    """Return how many children of runs that are being stopped, or were, were told to stop as well."""
    going = ~Q(status__in=values(lifecycle.RUN_ENDED)) & Q(stop_at__isnull=True)
    failed = Q(status=lifecycle.Run.FAILED) & _asked()
    found = models.Run.objects.filter(
        going | failed,
        parent__stop_at__isnull=False,
        parent__isnull=False,
        returned=False,
        superseded_by__isnull=True,
    )
    return sum(holds.stop_child(pk) for pk in list(found.order_by("pk").values_list("pk", flat=True)[:BATCH]))


def handed_over(run_id: int) -> list[int]:
    """Return the children of a run that haven't been given back."""
    rows = models.Run.objects.filter(parent=run_id, returned=False, superseded_by__isnull=True)
    return list(rows.order_by("pk").values_list("pk", flat=True))
