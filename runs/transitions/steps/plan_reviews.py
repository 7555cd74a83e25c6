"""Putting a plan before a person: nothing starts before they approved it."""

from __future__ import annotations

from django.conf import settings

from runs import lifecycle, models
from runs.models import paths
from runs.transitions import clock_time, indexing
from runs.transitions.steps._statement import Claim, fenced

WHY = (
    "The plans of this agent are read before anything starts. This approves no single action: what policy asks about "
    "is asked all the same, and so is whatever leaves this plan."
)


def ask_plan(claim: Claim, *, seen: int) -> None:
    """Open the question about the current version; one about an older version is no longer asked. Refuses Changed."""
    with fenced(claim, "ask_plan", seen=seen) as work:
        run = work.run
        models.Review.objects.filter(
            run=run, kind=lifecycle.ReviewKind.PLAN, status=lifecycle.Review.OPEN
        ).update(status=lifecycle.Review.SUPERSEDED, closed_at=work.now)
        plan = paths.plan(run, run.plan_version)
        assert plan is not None
        review = models.Review.objects.create(
            run=run,
            kind=lifecycle.ReviewKind.PLAN,
            status=lifecycle.Review.OPEN,
            revision=plan.version,
            digest=plan.digest,
            title=f"Approve the plan: {len(plan.steps)} step{'' if len(plan.steps) == 1 else 's'}",
            content={"version": plan.version, "why": WHY},
            groups=["reviewer"],
            due_at=work.now + clock_time.seconds(settings.CKPTSITE["REVIEW_DUE"]),
            expires_at=work.now + clock_time.seconds(settings.CKPTSITE["REVIEW_EXPIRES"]),
        )
        indexing.review(review)
        work.log.append(
            lifecycle.EntryKind.VERDICT,
            {"verdict": "plan", "plan": plan.version, "digest": plan.digest, "review": review.pk},
        )
        work.inbox_changed = True
