"""Open questions under a policy that was changed: judged anew, and tightened, closed or left as they are.

A stricter policy tightens them in place where only their terms differ; what it forbids, and what was approved so far
by somebody who may not under it, is closed and judged anew by the run's engine. A laxer one never closes an open
question and loosens none. The gate looks again whatever became of the question here.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from typing import Any

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from runs import hints, lifecycle, models, rights
from runs.models import kept
from runs.policies import parsing, rules, terms
from runs.tools import contract, registry, retyping
from runs.transitions import answers, audit, clock_time, considered, inbox, ladders, log
from runs.transitions.actor import CLOCK
from runs.transitions.committing import committing

BATCH = 200
CHANGED = "the policy was changed while this was open"
"""Why it is asked again."""


def behind(version: int | Subquery | None) -> QuerySet[models.Review]:
    """Return the open questions about actions that were judged under another policy version than this."""
    rows = models.Review.objects.filter(status=lifecycle.Review.OPEN, kind=lifecycle.ReviewKind.ACTION)
    return rows.filter(~Q(policy_version=version) | Q(policy_version__isnull=True))


def sweep(*, limit: int = BATCH) -> int:
    """Return how many open questions were judged under the policy in force; those that are due first come first."""
    version = models.Installation.objects.values_list("policy_version", flat=True).get(pk=1)
    found = behind(version).order_by("due_at", "id").values_list("pk", "run_id")[:limit]
    return sum(judge(pk, run_id) for pk, run_id in found)


def run_of(review_id: int) -> int:
    """Return the run of a question that is about to be answered: judged first, if the policy is another by now."""
    return runs_of([review_id])[review_id]


def runs_of(review_ids: Iterable[int]) -> dict[int, int]:
    """Return the runs of the questions by their numbers, each question judged first if the policy is another."""
    in_force = models.Installation.objects.values("policy_version")[:1]
    late = behind(Subquery(in_force)).filter(pk=OuterRef("pk"))
    rows = models.Review.objects.filter(pk__in=list(review_ids)).annotate(late=Exists(late)).order_by("pk")
    found = list(rows.values_list("pk", "run_id", "late"))
    for review_id, run_id, is_late in found:
        if is_late:
            judge(review_id, run_id, patient=True)
    return {review_id: run_id for review_id, run_id, _ in found}


def judge(review_id: int, run_id: int, *, patient: bool = False) -> bool:
    """Return whether the question was judged: False where it is past that or, unless `patient`, its run is locked."""
    with committing("judge"):
        run = inbox.lock(run_id) if patient else inbox.try_lock(run_id)
        if run is None:
            return False
        rows = models.Review.objects.select_for_update(no_key=True, of=("self",)).select_related(
            "action", "policy_version"
        )
        review = rows.get(pk=review_id)
        version = models.Installation.objects.select_related("policy_version").get(pk=1).policy_version
        if review.status != lifecycle.Review.OPEN or version is None or answers.being_prepared(review):
            return False  # what was edited is judged when it is prepared
        if review.policy_version_id == version.pk:
            return False
        before = review.policy_version
        review.policy_version = version
        _apply(run, review, _verdict(run, review, version), before)
        review.save()
        return True


def _verdict(run: models.Run, review: models.Review, version: models.PolicyVersion) -> rules.Verdict | None:
    """Return what the policy in force says of the action, by what is stored of it; None where its tool is gone."""
    action = review.action
    assert action is not None
    try:
        tool = registry.get(action.tool)
    except registry.UnknownTool:
        return None  # the gate knows
    about = considered.Considered(
        run,
        tool=action.tool,
        arguments=action.arguments,
        identity=action.identity_digest,
        duplicate=action.duplicate_of_id is not None,
        deviation=lambda: bool((review.content or {}).get("deviation")),
        preview=lambda: action.preview,
    )
    facts = considered.facts(run, tool, agent=run.agent_version.agent.name)
    return rules.evaluate(_rules(version.pk), facts, about)


@kept.by_number(8)
def _rules(version: int) -> tuple[rules.Rule, ...]:
    return parsing.parse(models.PolicyVersion.objects.get(pk=version).rules)


def _apply(
    run: models.Run, review: models.Review, found: rules.Verdict | None, before: models.PolicyVersion | None
) -> None:
    if found is None or found.verdict == rules.ALLOW:
        return
    numbers = {"from": before.number if before else 0, "to": _number(review), "rule": found.rule}
    if found.verdict == rules.DENY:
        _close(run, review, {**numbers, "ends": "denied"})
        return
    stood = standing(review)
    _tighten(review, found)
    if standing(review) == stood:
        return
    if review.votes and not _all_count(review, stood):
        _restore(review, stood)
        _close(run, review, {**numbers, "ends": "again"})
        return
    review.tightened += 1
    judged = {**numbers, "before": stood, "after": standing(review)}
    review.content = {**review.content, "judged": judged, "rule": found.rule, "why": found.reason}
    review.content = {**review.content, "retype": review.content.get("retype") or _retype(review)}
    content = {**judged, "position": run.position, "tightened": review.tightened}
    audit.append("review.tightened", actor=CLOCK, run=run, subject=f"review {review.pk}", content=content)
    hints.changed(run.pk, inbox=True)


def standing(review: models.Review) -> dict[str, Any]:
    """Return the terms on which it is asked, for comparing and for the audit trail."""
    return {
        "tier": review.tier,
        "groups": review.groups,
        "quorum": review.quorum,
        "separation": review.separation,
        "reason_required": review.reason_required,
        "due": review.due_at.isoformat(),
        "expires": None if review.expires_at is None else review.expires_at.isoformat(),
        "undo_seconds": review.undo_seconds,
        "on_expiry": review.on_expiry,
    }


def _tighten(review: models.Review, found: rules.Verdict) -> None:
    """Let the question have the stricter of its terms and of today's, part by part; nothing of it gets looser."""
    action = review.action
    assert action is not None
    opened = terms.read(action.terms or terms.written(found))
    both = rules.stricter(opened, found)
    review.tier = max(review.tier, both.tier)
    review.quorum = max(review.quorum, both.quorum)
    review.separation = review.separation or both.separation or review.tier >= retyping.FINAL
    review.reason_required = review.reason_required or both.reason_required
    window = ladders.undo_seconds(review.tier, {"undo_seconds": both.undo_seconds})
    review.undo_seconds = max(review.undo_seconds, window)
    if both.groups != opened.groups:  # else those that were added since stay
        review.groups = list(both.groups)
        ladders.restart(review, terms.written(both))
    review.on_expiry = min(review.on_expiry, found.on_expiry, key=rules.ON_EXPIRY.index)
    if found.due_seconds is not None:
        review.due_at = min(review.due_at, review.opened_at + clock_time.seconds(found.due_seconds))
    end = _end(review, found.expires_seconds)
    if end is not None and review.expires_at is not None:
        review.expires_at = min(review.expires_at, end)


def _end(review: models.Review, seconds: int | None) -> datetime.datetime | None:
    """Return the policy's end of the question, if that is still ahead: it is never over by a change of policy."""
    end = None if seconds is None else review.opened_at + clock_time.seconds(seconds)
    return end if end is not None and end > clock_time.now() else None


def _all_count(review: models.Review, stood: Mapping[str, Any]) -> bool:
    """Return whether each approval so far counts on the new terms too: who gave it may, with all that it needs."""
    if review.tier > stood["tier"] and review.tier >= retyping.FINAL:
        return False  # nobody has retyped anything
    given = review.decisions.filter(revision=review.revision, verdict=answers.APPROVE).select_related(
        "person"
    )
    for decision in given:
        apart = review.separation and not stood["separation"] and review.why_apart(decision.person_id)
        silent = review.reason_required and not decision.reason
        if apart or silent or not rights.may_decide(decision.person.roles(), review.groups):
            return False
    return True


def _restore(review: models.Review, stood: Mapping[str, Any]) -> None:
    """Let a question that is closed keep the terms on which it was asked."""
    for name in ("tier", "groups", "quorum", "separation", "reason_required", "undo_seconds", "on_expiry"):
        setattr(review, name, stood[name])
    review.due_at = datetime.datetime.fromisoformat(stood["due"])
    review.expires_at = stood["expires"] and datetime.datetime.fromisoformat(stood["expires"])


def _close(run: models.Run, review: models.Review, judged: Mapping[str, Any]) -> None:
    review.status = log.moved(review.status, lifecycle.REVIEW_MOVES, lifecycle.Review.SUPERSEDED, by="S")
    review.closed_at = clock_time.now()
    review.content = {**review.content, "judged": dict(judged)}
    inbox.leave(run, models.Fact.Kind.POLICY, {"review": review.pk, **judged}, by=None, mover="S")
    audit.append("review.overtaken", actor=CLOCK, run=run, subject=f"review {review.pk}", content=judged)
    hints.changed(run.pk, inbox=True)


def _retype(review: models.Review) -> Mapping[str, str] | None:
    action = review.action
    assert action is not None
    try:
        tool = registry.get(action.tool)
        return retyping.asked(tool, tool.parse(action.arguments()), review.tier)
    except (registry.UnknownTool, contract.BadArguments):
        return None


def _number(review: models.Review) -> int:
    assert review.policy_version is not None
    return review.policy_version.number
