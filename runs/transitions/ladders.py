"""What becomes of a question that nobody answers: more people are asked step by step, and at its end as policy says.

No step answers in a person's place. Whoever has looked at it, taken it over or put it off stops none of them: only an
answer does.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from django.conf import settings

from runs import hints, lifecycle, models, rights
from runs.policies import rules
from runs.transitions import audit, clock_time, inbox
from runs.transitions.actor import CLOCK
from runs.transitions.committing import committing

BATCH = 50


def set_up(review: models.Review, terms: Mapping[str, Any], *, now: datetime.datetime) -> None:
    """Let the unsaved question have the steps and the end that policy says."""
    review.on_expiry = str(terms.get("on_expiry", "deny"))
    review.ladder = [list(step) for step in terms.get("escalate", ())]
    review.next_at = _due(review.ladder, now)


def restart(review: models.Review, terms: Mapping[str, Any]) -> None:
    """Let the open question have these steps instead of its own; those whose time is past come at once."""
    review.ladder = [list(step) for step in terms.get("escalate", ())]
    review.next_at = _due(review.ladder, review.opened_at)


def undo_seconds(tier: int, terms: Mapping[str, Any]) -> float:
    """Return how long an approved action waits before it starts, so that the approval can be taken back."""
    given = terms.get("undo_seconds")
    if given is not None:
        return float(given)
    return float(settings.CKPTSITE.get(f"UNDO_WINDOW_{tier}", 0.0))


def climb() -> int:
    """Return how many questions went a step up: more people are asked now, and told so by their pages; each once."""
    now = clock_time.now()
    late = models.Review.objects.filter(status=lifecycle.Review.OPEN, next_at__lte=now).order_by("next_at")
    return sum(_climb(pk, run_id) for pk, run_id in late.values_list("pk", "run_id")[:BATCH])


def _climb(review_id: int, run_id: int) -> bool:
    with committing("climb"):
        run = inbox.try_lock(run_id)
        if run is None:
            return False
        review = models.Review.objects.select_for_update(no_key=True, of=("self",)).get(pk=review_id)
        now = clock_time.now()
        if review.status != lifecycle.Review.OPEN or review.next_at is None or review.next_at > now:
            return False
        seconds, groups = review.ladder[0]
        review.ladder = review.ladder[1:]
        review.next_at = _due(review.ladder, review.opened_at)
        added = _add(review, groups)
        review.save(update_fields=["groups", "ladder", "next_at"])
        _tell(run, review, {"after_seconds": seconds, "groups": added})
        return True


def put_off_end(run: models.Run, review: models.Review, *, now: datetime.datetime) -> bool:
    """Return whether the locked question goes on though its time is over, as its rule says; its approval still ends.

    With `escalate` the administrators are asked too, for as long again, and then it ends; with `stay` it is overdue
    until somebody answers.
    """
    if review.on_expiry not in {rules.STAY, rules.ESCALATE}:
        return False
    terms = review.action.terms if review.action is not None else {}
    span = (terms or {}).get("expires_seconds") or settings.CKPTSITE["REVIEW_EXPIRES"]
    review.expires_at = now + clock_time.seconds(span)
    added = []
    if review.on_expiry == rules.ESCALATE:
        review.on_expiry, added = "deny", _add(review, [rights.ADMIN])
    review.save(update_fields=["expires_at", "on_expiry", "groups"])
    _tell(run, review, {"ends": review.expires_at.isoformat(), "groups": added})
    return True


def _add(review: models.Review, groups: list[str]) -> list[str]:
    added = [group for group in groups if group not in review.groups]
    review.groups = [*review.groups, *added]
    return added


def _tell(run: models.Run, review: models.Review, content: dict[str, Any]) -> None:
    audit.append("review.escalated", actor=CLOCK, run=run, subject=f"review {review.pk}", content=content)
    hints.changed(run.pk, inbox=True)


def _due(ladder: list[Any], since: datetime.datetime) -> datetime.datetime | None:
    return since + clock_time.seconds(ladder[0][0]) if ladder else None
