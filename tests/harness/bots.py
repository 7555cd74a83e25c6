"""People, as programs: they decide, click twice, answer too early, look at the world, reject, pause and take back.

What they do is drawn from the plan's dice by what they look at, so that somebody whose process died does the same
thing again.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from runs import exact, lifecycle, models
from runs.engine import rehearsing
from runs.policies import rules
from runs.transitions import (
    answers,
    branches,
    budgets,
    clock_time,
    decisions,
    edits,
    holds,
    redrives,
    refusals,
    rehearsals,
    switches,
)
from runs.transitions.actor import Actor
from tests.harness import plan as plans
from tests.harness import wrongs
from tests.harness.world import World

REVIEWERS = ("harness-reviewer", "harness-second")
OPERATOR = "harness-operator"
ADMIN = "harness-admin"
FIRST = "first"
"""Dice that always fall on the first checkpoint."""


class Bots:
    """What people do at one look at a run, and what of it was refused."""

    def __init__(self, plan: plans.Plan, world: World, *, who: str, turn: int) -> None:
        self.plan, self.world, self.who, self.turn = plan, world, who, turn
        self.counts: Counter[str] = Counter()

    def answer_all(self, run: models.Run) -> float:
        """Answer every open question that can be answered now; return seconds after which to come back."""
        pause = 0.0
        reviews = models.Review.objects.filter(run=run).select_related("action__occurrence", "run")
        reviews = reviews.order_by("id")
        for ordinal, review in enumerate(reviews):
            if review.status == lifecycle.Review.OPEN:
                pause = max(pause, self._answer(run, review, ordinal))
        return pause

    def _answer(self, run: models.Run, review: models.Review, ordinal: int) -> float:
        match review.kind:
            case lifecycle.ReviewKind.ACTION:
                self._decide(review, ordinal)
            case lifecycle.ReviewKind.IN_DOUBT:
                return self._settle(run, review, ordinal)
            case lifecycle.ReviewKind.QUESTION:
                self._tell(review, ordinal)
            case lifecycle.ReviewKind.BUDGET:
                token = self._token("budget", review.pk)
                self._send(review, budgets.RAISE, token=token, who=ADMIN, amount=review.content["limit"] * 2)
            case _:
                self._fail(run, review)
        return 0.0

    def _decide(self, review: models.Review, ordinal: int) -> None:
        dice, likely = self.plan.chance("decide", ordinal, review.revision), self.plan.people
        verdict = decisions.REJECT if dice.random() < likely.reject else decisions.APPROVE
        if likely.turnabout:
            assert review.action is not None
            first, again = review.action.duplicate_of_id is None, review.run_id != review.run.root_id
            verdict = decisions.APPROVE if first == again else decisions.REJECT
        token = self._token("decide", review.pk, review.revision)
        self._send(review, verdict, token=token)
        if dice.random() < likely.double_click:
            self._send(review, verdict, token=token)
            self._send(review, decisions.REJECT, token=f"{token}-again")

    def _tell(self, review: models.Review, ordinal: int) -> None:
        """Answer what the agent asks, or say that nobody can."""
        dice, likely = self.plan.chance("tell", ordinal), self.plan.people
        token = self._token("tell", review.pk)
        if dice.random() < likely.cannot:
            self._send(review, answers.CANNOT, token=token)
        else:
            self._send(review, answers.ANSWER, token=token, value=exact.canonical(f"as {self.who} says"))
        if dice.random() < likely.double_click:
            self._send(review, answers.CANNOT, token=f"{token}-again")

    def _fail(self, run: models.Run, review: models.Review) -> None:
        """Somebody retries what failed, twice at most; then it is left as it is."""
        tries = models.Review.objects.filter(run=run, kind=review.kind, answer=decisions.RETRY).count()
        again = tries < 2 and run.status == lifecycle.Run.FAILED
        verdict = decisions.RETRY if again else decisions.STOP
        self._send(review, verdict, token=self._token("failure", review.pk), who=OPERATOR)

    def _settle(self, run: models.Run, review: models.Review, ordinal: int) -> float:
        """Look at the world, truthfully: 'it happened' at once, 'it did not' only after the horizon."""
        action = review.action
        assert action is not None
        assert action.occurrence is not None
        dice, likely = self.plan.chance("doubt", ordinal), self.plan.people
        now, horizon = clock_time.now(), action.occurrence.horizon
        more: dict[str, Any] = {"evidence_number": action.evidence_number}
        if now < horizon and dice.random() < likely.too_early:
            self._too_early(review, now, more)
        name = action.arguments()["name"]
        applied = self.world.facts([name])[name]["applied"]
        token = self._token("doubt", review.pk, action.evidence_number)
        if any(done["key"] == action.occurrence.key for done in applied):
            self._send(review, decisions.HAPPENED, token=token, receipt="seen in the world", **more)
            return 0.0
        if now < horizon:
            return (horizon - now).total_seconds() + 0.005
        wish = decisions.ABSENT_DO if dice.random() < likely.again else decisions.ABSENT_LEAVE
        if dice.random() < likely.unknown:
            wish = decisions.UNKNOWN
        if wish == decisions.ABSENT_DO and models.Run.objects.get(pk=run.pk).stop_at is not None:
            wish = decisions.ABSENT_LEAVE
        self._send(review, wish, token=token, rendered_at=now, **more)
        return 0.0

    def _too_early(self, review: models.Review, now: Any, more: dict[str, Any]) -> None:
        """A bad reviewer: says that it did not happen before anybody can know."""
        token = self._token("early", review.pk, self.turn)
        before = self.counts["answered"]
        self._send(review, decisions.ABSENT_DO, rendered_at=now, token=token, **more)
        self.counts["too_early_taken"] += self.counts["answered"] - before
        self.counts["too_early_refused"] += before == self.counts["answered"]

    def _token(self, *what: object) -> str:
        return "-".join(str(part) for part in (self.plan.tag, self.plan.seed, self.who, *what))

    def _send(self, review: models.Review, verdict: str, *, who: str = "", **more: Any) -> None:
        given: dict[str, Any] = {
            "verdict": verdict,
            "revision": review.revision,
            "digest": review.digest,
            "evidence_number": review.evidence_number,
            "reason": "as the bot sees it",
        }
        try:
            decisions.decide(review.pk, decisions.Answer(**(given | more)), by=actor(who or self.who))
        except refusals.Refused:
            self.counts["refused"] += 1
        else:
            self.counts["answered"] += 1


def actor(name: str) -> Actor:
    """Return the person as one who acts."""
    return Actor(user=models.User.objects.get(username=name))


def act(run: models.Run, what: str) -> bool:
    """Do one thing to a run from outside; return whether it was taken."""
    operator = actor(OPERATOR)
    try:
        match what:
            case "stop":
                holds.stop(run.pk, reason="enough", by=operator)
            case "pause":
                holds.pause(run.pk, reason="wait a moment", by=operator)
            case "resume":
                holds.resume(run.pk, by=operator)
            case "withdraw":
                return _withdraw(run)
            case "expire":  # as though the time to answer had passed
                models.Review.objects.filter(
                    run=run, status=lifecycle.Review.OPEN, expires_at__isnull=False
                ).update(expires_at=clock_time.now())
            case "edit" | "extend":
                for review in _open(run):
                    _touch(review, what)
            case "strand":
                _strand(run)
            case "tamper":
                wrongs.tamper(run)
            case "policy" | "quorum" | "allow":
                _set_policy(what)
            case "pause_all" | "resume_all":
                switches.pause_all(what == "pause_all", by=actor(ADMIN), reason="Test.")
    except refusals.Refused:
        return False
    return True


def branch(run: models.Run, what: str, dice: str) -> int:
    """Let the run be done again from one of its checkpoints, or beside it, or apart; return the run that goes on."""
    number = 1 if dice == FIRST else random.Random(dice).randint(1, run.checkpoint_number)
    given: dict[str, Any] = {
        "checkpoint": number,
        "reason": "once more",
        "by": actor(OPERATOR),
        "token": f"{what}-{run.root_id}-{dice}",
    }
    if what == "separate":
        given["acknowledged"] = branches.earlier_effects(run.pk).digest
    made: dict[str, Callable[..., models.Run]] = {
        "redrive": redrives.redrive,
        "fork": branches.fork,
        "separate": branches.separate,
    }
    try:
        again = made[what](run.pk, **given)
    except refusals.Refused:
        return run.pk
    return again.pk


def _open(run: models.Run) -> list[models.Review]:
    rows = models.Review.objects.filter(
        run=run, status=lifecycle.Review.OPEN, kind=lifecycle.ReviewKind.ACTION
    )
    return list(rows.select_related("action").order_by("id"))


def _touch(review: models.Review, what: str) -> None:
    """Give what is asked other words, or more time."""
    by, action = actor(REVIEWERS[0]), review.action
    assert action is not None
    if what == "extend":
        decisions.extend(review.pk, reason="not today", by=by)
        return
    arguments = {**action.arguments(), "note": f"in words of revision {review.revision + 1}"}
    rehearsing.rehearse(rehearsals.ask(review.pk, arguments, by=by).pk)  # tried out by a worker, then saved
    given = edits.Edit(
        arguments=arguments,
        reason="better words",
        revision=review.revision,
        digest=review.digest,
        token=f"edit-{review.pk}-{review.revision}",
    )
    edits.edit(review.pk, given, by=by)


def _set_policy(what: str) -> None:
    """Put the policy in force anew: as a new installation has it, with two people for each effect, or with none."""
    changes: dict[str, dict[str, Any]] = {"quorum": {"quorum": 2}, "allow": {"verdict": "allow"}}
    change = changes.get(what, {})
    wanted = [
        {**rule, **change} if rule["verdict"] == "review" else rule for rule in rules.DEFAULT_RULES["rules"]
    ]
    switches.set_policy({**rules.DEFAULT_RULES, "rules": wanted}, reason="as it was", by=actor(ADMIN))


def _strand(run: models.Run) -> None:
    """Leave a fact, and forget to wake the run."""
    fact = {"reason": "a fact whose wake-up is lost"}
    models.Fact.objects.create(run=run, number=run.inbox + 1, kind=models.Fact.Kind.WAKE, content=fact)
    models.Run.objects.filter(pk=run.pk).update(inbox=run.inbox + 1)


def _withdraw(run: models.Run) -> bool:
    released = models.Review.objects.filter(
        run=run, status=lifecycle.Review.APPROVED, consumed_by__isnull=True
    ).order_by("id")
    for review in released:
        decisions.withdraw(review.pk, by=actor(REVIEWERS[0]))
    return bool(released)
