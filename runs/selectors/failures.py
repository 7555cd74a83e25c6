"""The lines of a log that tell of something that went wrong, was refused, or isn't known; and what was good before."""

from __future__ import annotations

from django.db.models import Min, Q, QuerySet, TextField
from django.db.models.functions import Cast

from runs import lifecycle, models
from runs.models import paths
from runs.models.reversals import TAKEN_BACK
from runs.selectors.run_log import Line

Kind = lifecycle.EntryKind
_BAD_RESULTS = frozenset(
    {
        lifecycle.Action.FAILED,
        lifecycle.Action.DENIED,
        lifecycle.Action.REJECTED,
        lifecycle.Action.EXPIRED,
        lifecycle.Action.IN_DOUBT,
        lifecycle.Action.ABANDONED,
    }
)
# What stands in the stored text of such a line; a text inside it can't hold this, its quotation marks are escaped.
_MARKS: dict[str, tuple[str, ...]] = {
    Kind.RESULT: tuple(sorted(f'"status":"{status}"' for status in _BAD_RESULTS)),
    Kind.RECEIPT: ('"outcome":"failed"', '"outcome":"did_not_happen"', '"outcome":"unknown"'),
    Kind.VERDICT: ('"verdict":"deny"', '"verdict":"in_doubt"'),
    Kind.END: ('"status":"failed"',),
    Kind.REFUSAL: ("",),
}
LOOKED_AT = 30


def among(run: models.Run) -> QuerySet[models.Entry]:
    """Return the run's lines that may be such; `is_one` says it for certain."""
    found = Q()
    for kind, marks in _MARKS.items():
        for mark in marks:
            found |= Q(kind=kind, said__contains=mark)
    return models.Entry.objects.filter(run=run).alias(said=Cast("content", TextField())).filter(found)


def is_one(line: Line) -> bool:
    """Return whether the line tells of a failure. Of a huge one only its beginning is known, so it counts as one."""
    content = line.content
    if not line.whole:
        return True
    match line.kind:
        case Kind.RESULT:
            return content.get("status") in _BAD_RESULTS
        case Kind.RECEIPT:
            return content.get("outcome") in {"failed", "did_not_happen", "unknown"}
        case Kind.VERDICT:
            return content.get("verdict") in {"deny", "in_doubt"}
        case Kind.END:
            return content.get("status") == lifecycle.Run.FAILED
    return line.kind == Kind.REFUSAL


def last_good(run: models.Run) -> int | None:
    """Return the newest checkpoint of the run itself that neither ends it nor stores a failure.

    Where its plan has taken back what it had done: the newest before the first of that, so that it is done anew.
    """
    before = _before_taken_back(run)
    if before is not None:
        return before
    rows = models.Checkpoint.objects.filter(run=run).exclude(kind=Kind.END).order_by("-number")
    bad = among(run).filter(number__isnull=False).order_by("-number").values_list("number", flat=True)
    known = set(bad[:LOOKED_AT])
    return next(
        (number for number in rows.values_list("number", flat=True)[:LOOKED_AT] if number not in known), None
    )


def taken_back(run: models.Run) -> list[int]:
    """Return the occurrences that the plan of this failed run has taken back."""
    asked = models.Review.objects.filter(run=run, kind=lifecycle.ReviewKind.FAILURE).order_by("-pk").first()
    found = None if asked is None else (asked.content or {}).get(TAKEN_BACK)
    return list(found or ())


def _before_taken_back(run: models.Run) -> int | None:
    """Return the newest checkpoint before the first effect that the run's plan asked to take back, if it did."""
    wanted = taken_back(run)
    if not wanted:
        return None
    calls = models.Action.objects.filter(occurrence__in=wanted, undo_of__isnull=True)
    first = calls.filter(run__in=[run.pk, *(ancestor for ancestor, _ in run.path)]).aggregate(
        at=Min("reply_position")
    )["at"]
    rows = paths.checkpoints(run).filter(position__lt=first).order_by("-position")
    return rows.values_list("number", flat=True).first()
