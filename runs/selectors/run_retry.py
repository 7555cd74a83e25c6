"""Trying a failed run again as it is: one button, where the failure was one that passes."""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from runs import lifecycle, models, rights
from runs.models.reversals import TAKEN_BACK
from runs.selectors import deciding, run_models

_OTHERWISE = {"contradiction", "differs", TAKEN_BACK}
"""What evidence speaks against, and what has changed since it began, is answered in words; what the plan took back is
only done anew by going on from before it."""


def of(asked: Iterable[models.Review], viewer: deciding.Viewer) -> run_models.Retry | None:
    """Return what the button sends, if one of these open questions is about a failure that may be tried again."""
    if not viewer.may(rights.Act.ANSWER_FAILURE):
        return None
    for review in asked:
        content = review.content or {}
        if review.kind == lifecycle.ReviewKind.FAILURE and not content.keys() & _OTHERWISE:
            return run_models.Retry(
                review_id=review.pk,
                revision=review.revision,
                digest=review.digest,
                evidence=review.evidence_number,
                token=secrets.token_urlsafe(24),
            )
    return None


def of_run(run: models.Run, viewer: deciding.Viewer) -> run_models.Retry | None:
    """Return the same for a run."""
    if run.status != lifecycle.Run.FAILED or run.superseded_by_id is not None:
        return None
    rows = models.Review.objects.filter(
        run=run, kind=lifecycle.ReviewKind.FAILURE, status=lifecycle.Review.OPEN
    )
    return of(rows.order_by("pk"), viewer)
