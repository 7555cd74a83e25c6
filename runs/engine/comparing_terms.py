"""Comparing the terms of questions about actions to what the log says they were opened on, and the audit chain since.

The run's engine writes them when it puts the question; a stricter policy tightens them, and a ladder adds people, each
with an audited event. The event names how far the log was then.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import exact, lifecycle, models
from runs.engine.comparing import Broken, readable

FINAL = 3  # here nobody releases what they had a hand in, whatever the rule says
_PARTS = ("tier", "separation", "reason_required")


def run(row: models.Run, asked: Mapping[int, tuple[int, Mapping[str, Any]]]) -> None:
    """Compare the questions of a run; `asked` has place and content of the log's newest line about each."""
    reviews = models.Review.objects.filter(run=row, kind=lifecycle.ReviewKind.ACTION, pk__in=asked)
    events = models.AuditEvent.objects.filter(
        run=row, act__in=("review.tightened", "review.escalated", "review.broke_glass")
    )
    tightened: dict[str, list[Mapping[str, Any]]] = {}
    added: dict[str, set[str]] = {}
    alone: dict[str, int | None] = {}
    for event in events.order_by("seq"):
        if event.act == "review.broke_glass":
            alone[event.subject] = event.actor_id
        elif event.act == "review.tightened":
            tightened.setdefault(event.subject, []).append(event.content)
        else:
            added.setdefault(event.subject, set()).update(
                event.content.get("groups", ()), event.content.get("after", ())
            )
    versions = dict(models.PolicyVersion.objects.values_list("pk", "number")) if asked else {}
    for review in reviews.select_related("action", "policy_version").order_by("pk"):
        what = f"review {review.pk}"
        position, said = asked[review.pk]
        told_of = tightened.get(what, [])
        with readable(what):
            _terms(review, position, said, told_of[-1] if told_of else None, added.get(what, set()))
        if review.tightened != len(told_of):
            raise Broken(f"{what}: how often its terms became stricter is not what the audit chain says")
        if review.alone_by_id != alone.get(what):
            raise Broken(f"{what}: whether it was released by break-glass is not what the audit chain says")
        first = versions.get(said["policy"] or 0, 0)
        if review.policy_version is not None and review.policy_version.number < first:
            raise Broken(f"{what}: it was judged under an older policy than its log says")


def _terms(
    review: models.Review,
    position: int,
    said: Mapping[str, Any],
    later: Mapping[str, Any] | None,
    added: set[str],
) -> None:
    action = review.action
    assert action is not None
    if later is not None and later["position"] >= position:
        wanted: Mapping[str, Any] = later["after"]
    elif exact.digest_of(action.terms) == said["terms"]:
        wanted = {**action.terms, "tier": said["tier"]}
    else:
        return  # it was asked on terms that no row holds any more
    wanted = {
        **wanted,
        "separation": wanted.get("separation", False) or (review.tier >= FINAL and review.separation),
    }
    for name in _PARTS:
        if getattr(review, name) != wanted.get(name, False):
            raise Broken(f"review {review.pk}: its terms ({name}) are not what was told of them")
    if review.quorum < wanted["quorum"] and review.alone_by_id is None:
        raise Broken(f"review {review.pk}: it asks fewer people than were told of")
    if not set(wanted["groups"]) <= set(review.groups) <= {*wanted["groups"], *added}:
        raise Broken(f"review {review.pk}: who may decide it is not what was told of it")
