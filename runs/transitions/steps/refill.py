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
        installation = models.Installation.objects.only("declared", "budgets").get(pk=1)
        short = advances.take(run, work.now, set_for=installation.day_limits, need=need, book=work.log)
        if short is None:
            if asked is None or not _still_short(run, asked):
                run.budget_review = None
                if asked is not None and asked.run_id == run.pk:
                    _no_longer(work, asked)
            return True
        if short.reserved:
            work.move_run(lifecycle.Run.QUEUED)
            run.reason, run.wake_at = "budget", work.now + clock_time.seconds(AGAIN)
        else:
            if asked is None:
                _ask(work, short)
            run.reason = (
                "review" if run.budget_review is None or run.budget_review.run_id == run.pk else "others"
            )
            work.log.checkpoint(lifecycle.Boundary.WAITING)
            work.move_run(lifecycle.Run.WAITING)
        work.release()
        return False


def _asked(run: models.Run) -> models.Review | None:
    """Return the budget review that is open already, locked if it is the run's own."""
    if run.budget_review_id is None:
        return None
    reviews = models.Review.objects.filter(pk=run.budget_review_id, status=lifecycle.Review.OPEN)
    own = reviews.filter(run=run).select_for_update(no_key=True, of=("self",)).first()
    return own or reviews.exclude(run=run).first()


def _still_short(run: models.Run, review: models.Review) -> bool:
    """Return whether what is asked for still can't be had: the run found enough for something else."""
    held = run.advance.get(review.content["measure"])
    if held is None or review.content["account"] not in held["accounts"]:
        return False
    free = models.Account.objects.get(pk=review.content["account"]).free
    return bool(free + held["amount"] < review.content["asked"])


def _no_longer(work: Work, review: models.Review) -> None:
    """There is enough again: somebody else's answer raised the limit, or another run returned its rest."""
    review.status, review.closed_at = lifecycle.Review.SUPERSEDED, work.now
    review.save(update_fields=["status", "closed_at"])
    work.inbox_changed = True


def _ask(work: Work, short: advances.Short) -> None:
    """Ask for more; where another run has asked the same of this account, wait for that answer.

    Who is short holds the account's lock, so that of two runs the second finds the question of the first.
    """
    run, account = work.run, short.account
    same = models.Review.objects.filter(account=account, status=lifecycle.Review.OPEN).first()
    if same is not None:
        run.budget_review = same
        return
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
        account=account,
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
