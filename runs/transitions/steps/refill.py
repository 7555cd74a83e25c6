"""Taking a further advance, and what happens when there is nothing left to take: the run asks for more and waits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.conf import settings

from runs import exact, lifecycle, measures, models
from runs.transitions import clock_time, indexing
from runs.transitions.steps import advances
from runs.transitions.steps._statement import Claim, Work, fenced

AGAIN = 1.0
"""Seconds until a run looks again whether other runs have returned what they had reserved."""


def refill(claim: Claim, *, need: Mapping[str, int], seen: int) -> bool:
    """Return whether the run holds what its next move needs; if not it is at rest now.

    It waits behind a budget review where the limit is reached, and is due again in a moment where other runs hold the
    rest. Refuses LostAuthority and Changed.
    """
    with fenced(claim, "refill", seen=seen) as work:
        run = work.run
        asked = _asked(run)
        short = advances.take(run, work.now, need=need)
        if short is None:
            if asked is not None:
                _no_longer(work, asked)
            run.budget_review = None
            return True
        if short.reserved:
            work.move_run(lifecycle.Run.QUEUED)
            run.reason, run.wake_at = "budget", work.now + clock_time.seconds(AGAIN)
        else:
            if asked is None:
                _ask(work, short)
            work.log.checkpoint(lifecycle.Boundary.WAITING)
            work.move_run(lifecycle.Run.WAITING)
            run.reason = "review"
        work.release()
        return False


def _asked(run: models.Run) -> models.Review | None:
    """Return the locked budget review that is open already."""
    if run.budget_review_id is None:
        return None
    review = models.Review.objects.select_for_update(of=("self",)).get(pk=run.budget_review_id)
    return review if review.status == lifecycle.Review.OPEN else None


def _no_longer(work: Work, review: models.Review) -> None:
    """There is enough again: somebody else's answer raised the limit, or another run returned its rest."""
    review.status, review.closed_at = lifecycle.Review.SUPERSEDED, work.now
    review.save(update_fields=["status", "closed_at"])
    work.inbox_changed = True


def _ask(work: Work, short: advances.Short) -> None:
    run, account = work.run, short.account
    content = {
        "account": account.pk,
        "scope": account.scope,
        "measure": account.measure,
        "asked": short.asked,
        "limit": account.limit,
        "spent": account.spent,
        "limits": [_limit(row) for row in short.accounts],
    }
    review = models.Review.objects.create(
        run=run,
        kind=lifecycle.ReviewKind.BUDGET,
        status=lifecycle.Review.OPEN,
        digest=exact.digest_of(content),
        title=measures.used_up(account.scope, account.measure, account.limit),
        content=content,
        groups=["operator"],
        due_at=work.now + clock_time.seconds(settings.CKPTSITE["REVIEW_DUE"]),
    )
    indexing.review(review)
    run.budget_review = review
    work.log.append(
        lifecycle.EntryKind.NOTE,
        {"code": "budget", "review": review.pk, "digest": review.digest, "text": review.title},
    )
    work.inbox_changed = True


def _limit(account: models.Account) -> list[Any]:
    return [account.scope, account.measure, account.limit, account.spent]
