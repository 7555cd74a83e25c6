"""What people do to a budget: raise a limit that is reached, by so much and for a reason."""

from __future__ import annotations

from collections.abc import Mapping

from runs import lifecycle, models, rights
from runs.transitions import audit, inbox, texts
from runs.transitions.actor import Actor
from runs.transitions.committing import committing
from runs.transitions.refusals import Invalid, NotYours, Stale

RAISE, STOP = "raise", "stop"
WOKEN = 50
"""So many runs at most are woken by whoever answers."""
MOST = 10**15
"""The largest raise of any measure."""


def check_right(user: models.User) -> None:
    """Refuse (NotYours) somebody without the right to raise a limit."""
    if not rights.may(user.roles(), rights.Act.RAISE_BUDGET):
        raise NotYours("You may not answer this; an operator can.")


def check_fit(run: models.Run, *, verdict: str, amount: int | None, reason: str) -> None:
    """Refuse (Invalid) a raise by nothing and an answer without reason, and (Stale) a raise for a run being stopped."""
    if not texts.says(reason):
        raise Invalid("Give a reason: why it may use more, or why it should end.")
    if verdict == STOP:
        return
    if amount is None or not 1 <= amount <= MOST:
        raise Invalid("Say by how much the limit is raised: a whole number of 1 or more.")
    if run.stop_at is not None:
        raise Stale("The run is being stopped, so its limit can't be raised any more.")


def raise_lineage(run: models.Run, raises: Mapping[str, int], *, by: Actor) -> dict[str, int]:
    """Return the limits of the locked run's lineage after raising some by so much; the caller commits.

    Refuses Invalid for a limit that isn't there, and a raise by nothing.
    """
    if not raises:
        return dict(run.budget)
    if by.user is None:
        raise NotYours("You may not answer this; an operator can.")
    check_right(by.user)
    accounts = (
        models.Account.objects.select_for_update(no_key=True, of=("self",))
        .filter(root=run.root_id)
        .order_by("pk")
    )
    known = {row.measure: row for row in accounts}
    limits = dict(run.budget)
    for measure, amount in sorted(raises.items()):
        account = known.get(measure)
        if account is None:
            raise Invalid(f"There is no limit of {measure} to raise.")
        if not 1 <= amount <= MOST:
            raise Invalid("Say by how much the limit is raised: a whole number of 1 or more.")
        before, account.limit = account.limit, account.limit + amount
        limits[measure] = account.limit
        account.save(update_fields=["limit"])
        content = {"scope": account.scope, "measure": measure, "before": before, "after": account.limit}
        audit.append("budget.raised", actor=by, run=run, subject=f"account {account.pk}", content=content)
    return limits


def wake(review: models.Review, *, by: Actor) -> int:
    """Return how many runs waited for the answer to this question of another run, and look again now.

    Each under its own lock, after the answer's commit; the clock finds whoever is left out here.
    """
    if review.kind != lifecycle.ReviewKind.BUDGET:
        return 0
    waiting = models.Run.objects.filter(status=lifecycle.Run.WAITING, budget_review=review)
    others = waiting.exclude(pk=review.run_id).order_by("pk").values_list("pk", flat=True)
    return sum(_woken(run_id, review.pk, by) for run_id in others[:WOKEN])


def _woken(run_id: int, review_id: int, by: Actor) -> bool:
    with committing("budget_wake"):
        run = inbox.lock(run_id)
        if run.status != lifecycle.Run.WAITING or run.budget_review_id != review_id:
            return False
        inbox.leave(run, models.Fact.Kind.WAKE, {"reason": "budget"}, by=by.user, mover="P")
        return True


def answered(run: models.Run, review: models.Review, verdict: str, amount: int | None, *, by: Actor) -> None:
    """Raise the limit that a locked review asks about, if that is the answer.

    The caller holds the run's lock too and commits. Whatever else waits for it is woken after that.
    """
    if verdict != RAISE or amount is None:
        return
    account = models.Account.objects.select_for_update(no_key=True, of=("self",)).get(
        pk=review.content["account"]
    )
    before = account.limit
    account.limit = before + amount
    account.save(update_fields=["limit"])
    if account.root_id is not None:
        run.budget = {**run.budget, account.measure: account.limit}
        run.save(update_fields=["budget"])
    audit.append(
        "budget.raised",
        actor=by,
        run=run,
        subject=f"account {account.pk}",
        content={"scope": account.scope, "measure": account.measure, "before": before, "after": account.limit,
                 "review": review.pk},
    )  # fmt: skip
