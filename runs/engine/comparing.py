"""Comparing each row with a status to what the log says: actions, revisions, plan steps, reviews, occurrences.

Left out is what decides nothing: titles and messages for people, and when a row was made or closed.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.db.models import Q

from runs import exact, lifecycle, models, state
from runs.engine import told
from runs.transitions import texts
from runs.transitions.steps.prepare import approval_digest


class Broken(Exception):
    """The first row that doesn't agree; one sentence."""


@contextmanager
def readable(what: str) -> Iterator[None]:
    """Let what has another shape than the product ever writes be Broken too."""
    try:
        yield
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise Broken(f"{what}: it can't be read ({type(error).__name__}: {error})") from error


def run(row: models.Run, folded: state.State, log: told.Log) -> None:
    """Compare everything that belongs to one run; refuse (Broken) the first row that differs."""
    rows = {
        (action.reply_position, action.call_index): action
        for action in models.Action.objects.filter(run=row).select_related("occurrence").order_by("pk")
    }
    for call_id, action in rows.items():
        if call_id not in log.calls:
            raise Broken(f"action {action.pk}: the log of run {row.pk} doesn't know it")
    for call_id in log.calls:
        if call_id not in rows:
            raise Broken(f"run {row.pk}: the action of log position {call_id[0]}, call {call_id[1]} is gone")
        with readable(f"action {rows[call_id].pk}"):
            _action(rows[call_id], folded.calls[call_id], log.calls[call_id])
    used = {number: call and rows[call].pk for number, call in log.waivers.items()}
    _differ(f"run {row.pk}", {"list of what may happen once more": (row.waivers, used)})
    _used({rows[call_id].pk: told_of for call_id, told_of in log.calls.items()})
    _plans(row, folded, log)
    _steps(row, folded, log)
    _reviews(row, log)


def _differ(what: str, pairs: dict[str, tuple[Any, Any]]) -> None:
    for name, (found, wanted) in pairs.items():
        if found != wanted:
            raise Broken(f"{what}: its {name} is not what the log says")


def _action(row: models.Action, call: state.CallState, log: told.Call) -> None:
    if row.status != call.status:
        raise Broken(
            f"action {row.pk}: it is {row.status}, but the log of run {row.run_id} says {call.status}"
        )
    proposed, verdict, review = log.proposed, log.verdict, log.review
    pairs: dict[str, tuple[Any, Any]] = {
        "tool": (row.tool, proposed["tool"]),
        "step": (row.step, proposed["step"] or ""),
        "effect": (row.effect, proposed["effect"]),
        "contract": (row.contract, proposed["contract"]),
        "protection": (row.protection, proposed["protection"]),
        "identity": (row.identity_digest, log.identity),
        "identity in full": (exact.digest_of(row.identity), log.identity),
        "proposed identity": (row.proposed_identity, _if_moved(proposed["identity"], log.identity)),
        "undone effect": (row.undo_of_id, proposed.get("undo_of")),
        "declaration": (row.declaration, proposed["declaration"]),
        "tier": (row.tier, review.get("tier", proposed["tier"])),
        "revision": ((row.revision, row.digest), (call.revision, call.digest)),
        "attempt": (row.attempt, len(call.attempts)),
        "evidence number": (row.evidence_number, row.evidence.count()),
        "end": (row.closed_at is None, row.status in lifecycle.ACTION_OPEN),
    }
    if verdict and row.status not in {lifecycle.Action.DENIED, lifecycle.Action.SUPERSEDED}:
        pairs["verdict"] = (
            (row.verdict, row.rule, row.policy_version_id),
            (verdict["verdict"], verdict["rule"], verdict["policy"]),
        )
    if review:
        pairs |= {
            "preview": (exact.digest_of(row.preview), review["preview"]),
            "precondition": (exact.digest_of(row.precondition), review["precondition"]),
            "terms": (exact.digest_of(row.terms), review["terms"]),
            "approval": (row.approval_digest, review["approval"]),
        }
        if not log.edited:  # an edit is put before people only when it is prepared
            pairs["approval in full"] = (approval_digest(row), review["approval"])
    if not log.asked:
        shown = (row.preview, row.precondition, row.approval_digest or None)
        pairs["question"] = (shown, (None, None, None))
    if row.status == lifecycle.Action.APPROVED:
        start = call.not_before and datetime.datetime.fromisoformat(call.not_before)
        pairs["start"] = (row.not_before, start)
    if row.status != lifecycle.Action.ABSORBED:
        pairs["receipt"] = (row.receipt_position, log.receipt)
    _differ(f"action {row.pk}", pairs)
    _revisions(row, log)
    _sent(row, log)


def _if_moved(proposed: str, now: str) -> str | None:
    """Return the proposed identity where an edit has made it something else."""
    return None if proposed == now else proposed


def _revisions(row: models.Action, log: told.Call) -> None:
    first = log.proposed["arguments"]
    if exact.digest_of(first) != log.digests[1]:
        raise Broken(f"action {row.pk}: its arguments are not those that its reply names")
    found = list(models.Revision.objects.filter(action=row).order_by("number"))
    # The first revision has a row of its own only once there is a second, or where a person asked for the action.
    wanted = sorted(log.digests) if len(log.digests) > 1 or row.undo_of_id is not None else []
    if [revision.number for revision in found] != wanted:
        raise Broken(f"action {row.pk}: the log says {len(wanted)} revisions, {len(found)} are there")
    for revision in found:
        if exact.digest_of(revision.arguments) != revision.digest:
            raise Broken(f"action {row.pk}: the arguments of revision {revision.number} were changed")
        if revision.digest != log.digests[revision.number]:
            raise Broken(f"action {row.pk}: revision {revision.number} is not what the log says")


def _sent(row: models.Action, log: told.Call) -> None:
    """Compare the action's occurrence to its intents, and each send on it to its intent."""
    occurrence = row.occurrence
    if row.occurrence_id is None or occurrence is None:
        if log.intents or row.occurrence_id is not None or row.status == lifecycle.Action.ABSORBED:
            raise Broken(f"action {row.pk}: its occurrence {row.occurrence_id or ''} is gone")
        return
    what = f"occurrence {occurrence.pk}"
    if row.status == lifecycle.Action.ABSORBED and not log.intents:
        wanted = (row.run.root_id, row.tool, row.identity_digest)
        if (occurrence.root_id, occurrence.tool, occurrence.identity_digest) != wanted:
            raise Broken(f"action {row.pk}: it absorbed {what}, which is another effect")
        return
    if log.by_hand and not log.intents:
        if [occurrence.identity_digest, occurrence.n] != log.by_hand or occurrence.first_sent_at is not None:
            raise Broken(f"{what}: it is not the one that the log of run {row.run_id} says was done by hand")
        return
    if not log.intents:
        raise Broken(f"action {row.pk}: it has {what}, but the log says that it was never sent")
    last = log.intents[-1]
    named = [occurrence.identity_digest, occurrence.n]
    if named != last["occurrence"] or any(
        intent["key"] not in occurrence.all_keys() for intent in log.intents
    ):
        raise Broken(f"{what}: it is not the one that action {row.pk} names in its intent")
    horizons = [datetime.datetime.fromisoformat(intent["horizon"]) for intent in log.intents]
    if occurrence.horizon != max(horizons):
        raise Broken(f"{what}: its horizon is not that of its last send")


def _used(calls: Mapping[int, told.Call]) -> None:
    """Compare which approvals are used up to the intents that name them: each is used by one action, once for all."""
    wanted = {
        intent["review"]: number
        for number, call in calls.items()
        for intent in call.intents
        if intent.get("review") is not None
    }
    asked = models.Review.objects.filter(Q(pk__in=wanted) | Q(consumed_by__in=calls))
    found = dict(asked.values_list("pk", "consumed_by"))
    for review in wanted.keys() | found.keys():
        if wanted.get(review) != found.get(review):
            raise Broken(f"review {review}: which action has used it up is not what the log says")


def _plans(row: models.Run, folded: state.State, log: told.Log) -> None:
    rows = models.Plan.objects.filter(run=row).select_related("author").order_by("version")
    found = {plan.version: plan for plan in rows}
    told_of = {
        version: (plan.position, plan.author.get_username() if plan.author else None)
        for version, plan in found.items()
    }
    if told_of != log.plans:
        raise Broken(f"run {row.pk}: its plan versions are not what the log says")
    for version, plan in found.items():
        if exact.digest_of(plan.steps) != plan.digest:
            raise Broken(f"run {row.pk}: plan version {version} was changed")
    steps = [{"id": step.id, "title": step.title, "body": step.body} for step in folded.plan]
    if found and found[max(found)].digest != exact.digest_of(steps):
        raise Broken(f"run {row.pk}: plan version {max(found)} is not what the log says")


def _steps(row: models.Run, folded: state.State, log: told.Log) -> None:
    rows = {step.key: step for step in models.PlanStep.objects.filter(run=row).order_by("order")}
    plan = folded.plan if row.begun else ()  # its rows are built when it begins
    for key in rows.keys() - {step.id for step in plan}:
        raise Broken(f"run {row.pk}, plan step {key}: the log doesn't know it")
    for order, step in enumerate(plan):
        what = f"run {row.pk}, plan step {step.id}"
        found, where = rows.get(step.id), log.steps[step.id]
        if found is None:
            raise Broken(f"{what}: it is gone")
        called = where.called or (None, None)
        _differ(
            what,
            {
                "state": (found.state, step.state),
                "title": (found.title, texts.storable(step.title, limit=300)),
                "body": (exact.digest_of(found.body), exact.digest_of(step.body)),
                "loop": (found.group, step.group),
                "order": (found.order, order),
                "call": ((found.reply_position, found.call_index), called),
                "result": (found.result_position, where.closed),
            },
        )


def _reviews(row: models.Run, log: told.Log) -> None:
    rows = {review.pk: review for review in models.Review.objects.filter(run=row).order_by("pk")}
    for number, asked in log.reviews.items():
        review = rows.get(number)
        if review is None:
            raise Broken(f"review {number}: it is gone")
        if asked["verdict"] != "review":
            continue
        seen = (asked["approval"], asked["revision"])
        if (review.digest, review.revision) not in {seen, _edited(review)}:
            raise Broken(f"review {number}: what it asks about is not what the log says")
    for number, digest in log.budgets.items():
        review = rows.get(number)
        if review is None:
            raise Broken(f"review {number}: it is gone")
        if (review.digest, exact.digest_of(review.content)) != (digest, digest):
            raise Broken(f"review {number}: what it asks about is not what the log says")
    for number, asked in log.asked.items():
        review = rows.get(number)
        if review is None or (review.revision, review.digest) != (asked.get("plan", 1), asked["digest"]):
            raise Broken(f"review {number}: what it asks about is not what the log says")
    for number, review in rows.items():
        asked_about = review.kind in _ASKED or "pins" in review.content
        if (asked_about and number not in log.asked) or (
            review.kind == lifecycle.ReviewKind.BUDGET and number not in log.budgets
        ):
            raise Broken(f"review {number}: the log of run {row.pk} doesn't know it")
        if review.kind == lifecycle.ReviewKind.ACTION and number not in log.reviews:
            raise Broken(f"review {number}: the log of run {row.pk} doesn't know it")


_ASKED = frozenset({lifecycle.ReviewKind.PLAN, lifecycle.ReviewKind.QUESTION})


def _edited(review: models.Review) -> tuple[str, int] | None:
    """Return digest and revision that an edit gave it which isn't prepared yet; None where there is none."""
    left = models.Fact.objects.filter(run=review.run_id, kind=models.Fact.Kind.EDITED).order_by("-number")
    for fact in left:
        if fact.content["review"] == review.pk:
            revision = fact.content["revision"]
            return exact.link(review.action_id or 0, revision, fact.content["digest"], "edited"), revision
    return None
