"""What is kept of a lineage, and for how long: the one place that says so.

Sealed, nothing goes on from it any more, and its record stays. Only of a sealed lineage anything is erased, as a whole
and by the policy of the installation: contents first, then the log, at last the receipts.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Iterator

from django.conf import settings
from django.db.models import Exists, F, OuterRef, Q

from runs import lifecycle, models, rights
from runs.models import paths
from runs.transitions import attempts, audit, clock_time, inbox, indexing, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

SEALED = "This lineage is sealed: its record stays, but nothing goes on from it any more."
BATCH = 200
DAY = 24 * 3600.0
POLICY = Actor(user=None, channel="shell")
"""Who erases: the installation's settings, by whoever runs its commands."""
Part = models.Tombstone.Part


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
    return _seal(root_id, reason=reason, by=by, ended_before=ended_before)


def seal_by_policy(root_id: int, *, part: str) -> models.Run:
    """Return the first run of the lineage, sealed because its `part` is kept no longer; refuses as `seal` does."""
    reason = f"By policy nothing is kept of it for longer than {days(part)} days but digests."
    return _seal(root_id, reason=reason, by=POLICY, ended_before=before(part))


def _seal(root_id: int, *, reason: str, by: Actor, ended_before: datetime.datetime | None) -> models.Run:
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


def days(part: str) -> int:
    """Return for how many days after its end this part of a lineage is kept by policy; 0 for ever."""
    kept = {part: int(settings.CKPTSITE[f"KEEP_{part.upper()}"]) for part in Part.values}
    if part == Part.PAYLOADS:  # a log takes its contents with it
        return kept[Part.PAYLOADS] or kept[Part.TIMELINE]
    return kept[part]


def before(part: str) -> datetime.datetime | None:
    """Return the moment before which a lineage must have ended for this part to go; None where it is kept for ever."""
    kept = days(part)
    return clock_time.now() - clock_time.seconds(kept * DAY) if kept else None


def told(run: models.Run) -> str:
    """Return in one sentence what was erased of the run, when, and by which rule; empty where nothing was."""
    found = list(models.Tombstone.objects.filter(run=run).order_by("pk"))
    if not found:
        return ""
    said = [
        f"{_WORDS[Part(row.part)]} on {row.content['at'][:10]}, kept for {row.content['days']} days"
        for row in found
    ]
    left = (
        ""
        if found[-1].part == Part.RECEIPTS
        else " Its effects, their keys and digests of their receipts stay."
    )
    return (
        f"Run {run.pk} ended as {run.status}; by the policy of this site erased were {'; '.join(said)}.{left}"
    )


_WORDS = {
    Part.PAYLOADS: "what it said and was given",
    Part.TIMELINE: "its log",
    Part.RECEIPTS: "its receipts",
}


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


def why_kept(
    root: int, *, ended_before: datetime.datetime, below: Collection[int] = (), beside: Collection[int] = ()
) -> str | None:
    """Return in one sentence why nothing of the lineage can be erased now, or None if it can.

    `below` are the first runs of separate work that goes on from it and of which nothing was erased.
    """
    why = why_not(root, ended_before=ended_before, beside=beside)
    if why is not None:
        return why
    late = Q(ended_at__isnull=True) | Q(ended_at__gte=ended_before)
    child = models.Run.objects.filter(late, parent__root=root).order_by("pk").first()
    if child is not None:
        return f"Run {child.pk}, to which it handed work over, ended too recently."
    states = [lifecycle.Occurrence.OPEN, lifecycle.Occurrence.UNKNOWN]
    if models.Occurrence.objects.filter(root=root, state__in=states).exists():
        return "It isn't known of every effect of this lineage whether it happened; that is to be answered first."
    if models.Review.objects.filter(run__root=root, status=lifecycle.Review.OPEN).exists():
        return "Somebody is still asked about this lineage."
    if models.Verification.objects.filter(occurrence__root=root, done_at=None).exists():
        return "An effect of this lineage is being read back."
    if below:
        return f"Run {min(below)}, separate work, goes on from its log; that has to be erased first."
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
