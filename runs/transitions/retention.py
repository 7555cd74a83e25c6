"""Sealing a lineage: what it did stays on record for ever, and nothing goes on from it any more.

Its contents may be taken away afterwards, as a whole. Occurrences, keys and receipts stay.
"""

from __future__ import annotations

from runs import lifecycle, models, rights
from runs.models import paths
from runs.transitions import attempts, audit, clock_time, inbox, indexing, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

SEALED = "This lineage is sealed: its record stays, but nothing goes on from it any more."


@attempts.noted("lineage.seal", "run {}")
def seal(root_id: int, *, reason: str, by: Actor) -> models.Run:
    """Return the first run of the lineage, sealed. Doing it twice changes nothing.

    Refuses NotYours for all but administrators, Invalid without a reason, and Stale while anything of it is open.
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
        if _open(root.pk):
            raise Stale(
                "Something of this lineage is still open; it can be sealed once everything has ended."
            )
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


def _open(root: int) -> bool:
    runs = models.Run.objects.filter(root=root)
    return (
        runs.exclude(status__in=lifecycle.RUN_ENDED).exists()
        or models.Review.objects.filter(
            run__root=root, status=lifecycle.Review.OPEN, run__superseded_by__isnull=True
        ).exists()
        or paths.unsettled_of(root).exists()
    )
