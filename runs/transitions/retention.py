"""Sealing a lineage: what it did stays on record for ever, and nothing goes on from it any more.

Its contents may be taken away afterwards, as a whole. Occurrences, keys and receipts stay.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator

from django.db.models import Exists, F, OuterRef, Q

from runs import lifecycle, models, rights
from runs.models import paths
from runs.transitions import attempts, audit, clock_time, inbox, indexing, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

SEALED = "This lineage is sealed: its record stays, but nothing goes on from it any more."
BATCH = 200


@attempts.noted("lineage.seal", "run {}")
def seal(
    root_id: int, *, reason: str, by: Actor, ended_before: datetime.datetime | None = None
) -> models.Run:
    """Return the first run of the lineage, sealed. Doing it twice changes nothing.

    Refuses NotYours for all but administrators, Invalid without a reason, and Stale while anything of it is open or
    under somebody's hands, while another lineage may still come back to it, and where a run of it ended at
    `ended_before` or later.
    """
    if by.user is None or rights.ADMIN not in by.user.roles():
        raise NotYours("Only an administrator may seal a lineage.")
    reason = texts.typed(reason, "reason")
    if not texts.says(reason):
        raise Invalid("Say why it is sealed; the reason stays in the record.")
    with committing("seal"):
        root = inbox.lock(root_id)
        if root.root_id != root.pk:
            raise Invalid(f"Run {root.pk} isn't the first of its lineage; run {root.root_id} is.")
        if root.sealed_at is not None:
            return root
        # An attempt that is being made holds the one before it, and asks again once it has that.
        rows = models.Run.objects.filter(root=root).exclude(pk=root.pk)
        held = len(rows.select_for_update(no_key=True, skip_locked=True, of=("self",)).values_list("pk"))
        if held != rows.count():
            raise Stale("Somebody is at work on a run of this lineage just now; seal it after that.")
        why = why_not(root.pk, ended_before=ended_before)
        if why is not None:
            raise Stale(why)
        root.sealed_at = clock_time.now()
        root.save(update_fields=["sealed_at"])
        indexing.forget(root.pk)
        audit.append(
            "lineage.sealed", actor=by, run=root, subject=f"run {root.pk}", content={"reason": reason}
        )
        return root


def refuse_sealed(run: models.Run) -> None:
    """Refuse (Stale) to go on from a run of a sealed lineage."""
    if models.Run.objects.filter(pk=run.root_id, sealed_at__isnull=False).exists():
        raise Stale(SEALED)


def ended(before: datetime.datetime) -> Iterator[int]:
    """Give the first run of each lineage that isn't sealed and whose runs all ended before that moment, oldest first.

    Who handed work over comes before those who did it. What may not be sealed all the same, `why_not` says.
    """
    late = Q(ended_at__isnull=True) | Q(ended_at__gte=before)
    later = models.Run.objects.filter(late, root=OuterRef("pk"))
    rows = models.Run.objects.filter(sealed_at__isnull=True, root=F("pk"), ended_at__lt=before)
    rows, after = rows.exclude(Exists(later)).order_by("pk"), 0
    while found := list(rows.filter(pk__gt=after).values_list("pk", flat=True)[:BATCH]):
        yield from found
        after = found[-1]


def why_not(
    root: int, *, ended_before: datetime.datetime | None = None, beside: Collection[int] = ()
) -> str | None:
    """Return in one sentence why the lineage can't be sealed now, or None if it can.

    `beside` are lineages that would be sealed before it.
    """
    if _open(root):
        return "Something of this lineage is still open; it can be sealed once everything has ended."
    if ended_before is not None and models.Run.objects.filter(root=root, ended_at__gte=ended_before).exists():
        return "A run of this lineage ended too recently for it to be sealed yet."
    below = models.Run.objects.filter(parent__root=root).exclude(status__in=lifecycle.RUN_ENDED)
    child = below.order_by("pk").values_list("pk", flat=True).first()
    if child is not None:
        return f"Run {child}, to which it handed work over, hasn't ended; it can be sealed after that."
    above = models.Run.objects.filter(
        root=root, parent__isnull=False, parent__root__sealed_at__isnull=True
    ).exclude(parent__root__in=beside)
    parent = above.order_by("parent__root").values_list("parent__root", flat=True).first()
    if parent is not None:
        return f"Another attempt of run {parent}, which handed it the work, may need it again; seal that lineage first."
    return None


def _open(root: int) -> bool:
    runs = models.Run.objects.filter(root=root)
    return (
        runs.exclude(status__in=lifecycle.RUN_ENDED).exists()
        or models.Review.objects.filter(
            run__root=root, status=lifecycle.Review.OPEN, run__superseded_by__isnull=True
        ).exists()
        or paths.unsettled_of(root).exists()
    )
