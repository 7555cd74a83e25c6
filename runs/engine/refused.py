"""Asking again for just what a person has refused: refused at once in words, and after the third time the run fails."""

from __future__ import annotations

from collections.abc import Sequence

from django.db.models import Q

from runs import lifecycle, models
from runs.models import paths
from runs.transitions import steps, words

RULE = "A person refused just this before"
LIMIT = 3


class Stuck(RuntimeError):
    """The agent keeps proposing what was refused; one sentence."""


def verdict(run: models.Run, asked: steps.Verdict, *, tool: str, digest: str) -> steps.Verdict:
    """Return `asked`, or a refusal if a person refused the same tool with the same arguments on this path.

    Only a rejection counts: what expired or was superseded, or was asked back about, may be asked again.
    """
    rows = models.Action.objects.filter(
        Q(run=run.pk) | Q(run__in=[ancestor for ancestor, _ in run.path]),
        tool=tool,
        digest=digest,
        status=lifecycle.Action.REJECTED,
        reviews__status=lifecycle.Review.REJECTED,
    )
    for row in rows.order_by("-pk"):
        if row.run_id == run.pk or paths.closed_on(run.path, row):
            return steps.Verdict(
                verdict="deny", rule=RULE, tier=asked.tier, terms=asked.terms, words=_words(row)
            )
    return asked


def _words(row: models.Action) -> str:
    last = models.Decision.objects.filter(review__action=row, verdict="reject").select_related("person")
    decision = last.order_by("pk").last()
    who, reason = (decision.person.get_username(), decision.reason) if decision else ("somebody", "")
    return words.refused_before(who, reason)


def check(run: models.Run, calls: Sequence[steps.Proposed]) -> None:
    """Refuse (Stuck) to go on once one of these calls was refused so for the third time."""
    for call in calls:
        if call.verdict is None or call.verdict.rule != RULE:
            continue
        asked = models.Action.objects.filter(
            run=run.pk, tool=call.tool, digest=call.digest, status=lifecycle.Action.DENIED, rule=RULE
        )
        if asked.count() >= LIMIT:
            raise Stuck(
                f"The agent keeps proposing what was refused: {call.tool}, {asked.count()} times since."
            )
