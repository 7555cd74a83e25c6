"""Having an effect read back: a worker looks, and what it finds is kept beside the receipt.

A finding changes neither action nor occurrence. Where the world differs from the receipt a person is asked, also when
the run is closed; what they saw is what is so.
"""

from __future__ import annotations

import datetime

from django.conf import settings

from runs import exact, hints, lifecycle, models, rights
from runs.tools import registry
from runs.transitions import attempts, audit, clock_time, inbox, indexing
from runs.transitions.actor import ENGINE, Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

Outcome = models.Verification.Outcome
BATCH = 20
AGAIN, GIVEN_UP = datetime.timedelta(seconds=30), datetime.timedelta(hours=1)
READ_BACK = "read_back"
"""What a question's content holds when a read-back asked it: the number of the verification."""


def can(row: models.Occurrence) -> bool:
    """Return whether the effect stands, was sent from here, and has a tool that reads back."""
    if row.state != lifecycle.Occurrence.STANDING or row.first_sent_at is None:
        return False
    try:
        return registry.get(row.tool).verifies()
    except registry.UnknownTool:
        return False


def begin(row: models.Occurrence) -> None:
    """Ask a worker, in the caller's commit, to read back what has just been done; nobody asked for it."""
    if can(row) and not row.verifications.exists():
        hints.verify(models.Verification.objects.create(occurrence=row).pk)


@attempts.noted("effect.verify", "occurrence {}")
def ask(occurrence_id: int, *, by: Actor) -> models.Verification:
    """Return the look that is under way, or a new one. Refuses NotYours, Stale and Invalid."""
    user = by.user
    if user is None or not rights.may(user.roles(), rights.Act.VERIFY):
        raise NotYours(
            f"You may not have this read back; {' or '.join(rights.holders(rights.Act.VERIFY))} can."
        )
    run_id = models.Occurrence.objects.values_list("owner__run", flat=True).get(pk=occurrence_id)
    with committing("verify_asked"):
        run = inbox.lock(run_id)
        row = models.Occurrence.objects.select_for_update(no_key=True, of=("self",)).get(pk=occurrence_id)
        if row.state != lifecycle.Occurrence.STANDING:
            raise Stale("It isn't known to stand any more, so there is nothing to read back.")
        if not can(row):
            raise Invalid("Its tool can't read it back.")
        known = row.verifications.filter(done_at__isnull=True).first()
        if known is not None:
            return known
        made = models.Verification.objects.create(occurrence=row, by=user)
        audit.append("effect.verify_asked", actor=by, run=run, subject=f"occurrence {row.pk}", content={})
        hints.verify(made.pk)
        hints.changed(run.pk)
        return made


def done(verification_id: int, *, outcome: str, said: str) -> None:
    """Store what was found, once; ask a person where it differs from what is recorded."""
    found = models.Verification.objects.filter(pk=verification_id)
    run_id = found.values_list("occurrence__owner__run", flat=True).first()
    if run_id is None:
        return
    with committing("verified"):
        run = inbox.lock(run_id)
        row = models.Occurrence.objects.select_for_update(no_key=True, of=("self",)).select_related("owner").get(
            verifications=verification_id
        )  # fmt: skip
        if not found.filter(done_at__isnull=True).update(
            outcome=outcome, said=said, done_at=clock_time.now()
        ):
            return
        row.verification = outcome
        row.save(update_fields=["verification"])
        asks = outcome == Outcome.DIFFERS and row.state == lifecycle.Occurrence.STANDING and not _asked(row)
        review = _ask(run, row, verification_id, said) if asks else None
        if outcome == Outcome.DIFFERS:
            content = {"verification": verification_id, "said": said, "review": review.pk if review else None}
            audit.append(
                "effect.differs", actor=ENGINE, run=run, subject=f"occurrence {row.pk}", content=content
            )
        hints.changed(run.pk, inbox=review is not None)


def again() -> int:
    """Return how many looks were hinted at once more, or given up: their hints or their workers were lost."""
    now = clock_time.now()
    lost = models.Verification.objects.filter(done_at__isnull=True, hinted_at__lt=now - AGAIN)
    rows = list(lost.order_by("hinted_at")[:BATCH])
    for row in rows:
        if row.asked_at < now - GIVEN_UP:
            done(row.pk, outcome=Outcome.UNREADABLE, said="No worker came to read it back within an hour.")
            continue
        with committing("verify_again"):
            models.Verification.objects.filter(pk=row.pk, done_at__isnull=True).update(hinted_at=now)
            hints.verify(row.pk)
    return len(rows)


def _asked(row: models.Occurrence) -> bool:
    """Return whether somebody is asked about this effect already."""
    questions = models.Review.objects.filter(
        run=row.owner.run_id, kind=lifecycle.ReviewKind.FAILURE, status=lifecycle.Review.OPEN
    )
    return any((review.content or {}).get("contradiction") == row.pk for review in questions)


def _ask(run: models.Run, row: models.Occurrence, verification: int, said: str) -> models.Review:
    what = str((row.owner.preview or {}).get("summary") or row.tool)
    review = models.Review.objects.create(
        run=run,
        kind=lifecycle.ReviewKind.FAILURE,
        status=lifecycle.Review.OPEN,
        digest=exact.link(row.pk, READ_BACK, verification),
        title="What was read back differs from its receipt",
        content={
            "cause": f"It is recorded as done: {what} Read back, it is not so.",
            "detail": said,
            "checkpoint": run.checkpoint_number,
            "contradiction": row.pk,
            READ_BACK: verification,
        },
        groups=[rights.OPERATOR],
        due_at=clock_time.now() + clock_time.seconds(settings.CKPTSITE["REVIEW_DUE"]),
    )
    indexing.review(review)
    return review
