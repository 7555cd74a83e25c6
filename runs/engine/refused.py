"""Asking again for just what a person has refused: refused at once in words, and after the third time the run fails.

What a person changed before it was done, or before they refused it, they have refused as it was proposed. So have
they where they kept what was done before in its place.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.db.models import F, Q, QuerySet

from runs import lifecycle, models
from runs.models import paths
from runs.transitions import changes, steps, words

RULE = "A person refused just this before"
CHANGED = "A person changed just this before"
LIMIT = 3

_DECIDED = (lifecycle.Action.SUCCEEDED, lifecycle.Action.ABSORBED, lifecycle.Action.REJECTED)


class Stuck(RuntimeError):
    """The agent keeps proposing what was refused; one sentence."""


def verdict(run: models.Run, asked: steps.Verdict, *, tool: str, digest: str) -> steps.Verdict:
    """Return `asked`, or a refusal if a person refused the same tool with the same arguments on this path.

    Only a rejection counts, or other arguments that were then decided about: what expired or was superseded, or was
    asked back about, may be asked again.
    """
    mine = models.Action.objects.filter(
        Q(run=run.pk) | Q(run__in=[ancestor for ancestor, _ in run.path]), tool=tool
    ).order_by("-pk")
    for row in _on_path(run, mine.filter(digest=digest, status=lifecycle.Action.REJECTED,
                                         reviews__status=lifecycle.Review.REJECTED)):  # fmt: skip
        return _denied(asked, RULE, _words(row))
    edited = mine.filter(status__in=_DECIDED, revision__gt=1).exclude(digest=digest)
    left = edited.filter(revisions__digest=digest, revisions__number__lt=F("revision")).distinct()
    for row in _on_path(run, left):
        done = row.status != lifecycle.Action.REJECTED
        return _denied(asked, CHANGED, words.changed_before(changes.told(row), done=done))
    kept = mine.filter(digest=digest, status=lifecycle.Action.ABSORBED, undo_of__isnull=True)
    stands = kept.filter(occurrence__state=lifecycle.Occurrence.STANDING)
    others = stands.exclude(occurrence__owner__digest=digest).select_related("occurrence__owner")
    for row in _on_path(run, others):
        assert row.occurrence is not None
        difference = changes.between(row.arguments(), row.occurrence.owner.arguments())
        return _denied(asked, CHANGED, words.kept_before(difference))
    return asked


def _on_path(run: models.Run, rows: QuerySet[models.Action]) -> Iterator[models.Action]:
    """Yield the actions that this run, or its path up to the cut, has closed."""
    yield from (row for row in rows if row.run_id == run.pk or paths.closed_on(run.path, row))


def _denied(asked: steps.Verdict, rule: str, text: str) -> steps.Verdict:
    return replace(asked, verdict="deny", rule=rule, words=text, reason="")


def _words(row: models.Action) -> str:
    last = models.Decision.objects.filter(review__action=row, verdict="reject").select_related("person")
    decision = last.order_by("pk").last()
    who, reason = (decision.person.get_username(), decision.reason) if decision else ("somebody", "")
    return words.refused_before(who, reason)


def check(run: models.Run, calls: Sequence[steps.Proposed]) -> None:
    """Refuse (Stuck) to go on once one of these calls was refused so for the third time."""
    for call in calls:
        if call.verdict is None or call.verdict.rule not in {RULE, CHANGED}:
            continue
        asked = models.Action.objects.filter(
            run=run.pk,
            tool=call.tool,
            digest=call.digest,
            status=lifecycle.Action.DENIED,
            rule=call.verdict.rule,
        )
        if asked.count() >= LIMIT:
            raise Stuck(
                f"The agent keeps proposing what was refused: {call.tool}, {asked.count()} times since."
            )
