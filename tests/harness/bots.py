"""People, as programs: they decide, click twice, answer too early, look at the world, reject and stop."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from runs import lifecycle, models
from runs.transitions import clock_time, decisions, holds, refusals
from runs.transitions.actor import Actor
from tests.harness.plan import Plan
from tests.harness.world import World

_tokens = itertools.count()


@dataclass
class Bots:
    """What people do in one trial, and what of it was refused."""

    plan: Plan
    world: World
    reviewer: models.User
    operator: models.User
    too_early_refused: int = 0
    too_early_accepted: int = 0
    happened: int = 0
    absent: int = 0
    rejected: set[int] = field(default_factory=set)

    def answer_all(self, run: models.Run) -> float:
        """Answer every open question that can be answered now; return seconds after which it is worth coming back."""
        pause = 0.0
        for review in models.Review.objects.filter(run=run, status=lifecycle.Review.OPEN).order_by("id"):
            pause = max(pause, self._answer(run, review))
        return pause

    def _answer(self, run: models.Run, review: models.Review) -> float:
        match review.kind:
            case lifecycle.ReviewKind.ACTION:
                if run.stop_at is None and self.plan.rng.random() < self.plan.stop:
                    self._try(lambda: holds.stop(run.pk, reason="enough", by=Actor(user=self.operator)))
                    return 0.0
                self._decide(review)
            case lifecycle.ReviewKind.IN_DOUBT:
                return self._settle(review)
            case _:
                self._send(
                    review, decisions.RETRY if run.attempts < 50 else decisions.STOP, user=self.operator
                )
        return 0.0

    def _decide(self, review: models.Review) -> None:
        verdict = decisions.REJECT if self.plan.rng.random() < self.plan.reject else decisions.APPROVE
        token = self._send(review, verdict)
        if self.plan.rng.random() < self.plan.double_click:
            self._send(review, verdict, token=token)
            self._send(review, decisions.REJECT)

    def _settle(self, review: models.Review) -> float:
        """Look at the world, truthfully: 'it happened' at once, 'it did not' only after the horizon."""
        action = review.action
        assert action is not None
        assert action.occurrence is not None
        now = clock_time.now()
        name = models.Revision.objects.get(action=action, number=action.revision).arguments["name"]
        if now < action.occurrence.horizon and self.plan.rng.random() < self.plan.too_early:
            self._too_early(review, now)
        if self.world.count(name):
            self.happened += 1
            self._send(review, decisions.HAPPENED, receipt="seen in the world")
            return 0.0
        if now < action.occurrence.horizon:
            return (action.occurrence.horizon - now).total_seconds()
        self.absent += 1
        wish = decisions.ABSENT_DO if self.plan.rng.random() < 0.7 else decisions.ABSENT_LEAVE
        if models.Run.objects.get(pk=review.run_id).stop_at is not None:
            wish = decisions.ABSENT_LEAVE
        self._send(review, wish, rendered_at=now)
        return 0.0

    def _too_early(self, review: models.Review, now: Any) -> None:
        """A bad reviewer: says that it did not happen before anybody can know."""
        try:
            self._post(review, decisions.ABSENT_DO, rendered_at=now)
        except refusals.Refused:
            self.too_early_refused += 1
        else:
            self.too_early_accepted += 1

    def _send(self, review: models.Review, verdict: str, **more: Any) -> str:
        token = more.setdefault("token", f"bot-{self.plan.seed}-{next(_tokens)}")
        self._try(lambda: self._post(review, verdict, **more))
        return str(token)

    def _post(
        self, review: models.Review, verdict: str, *, user: models.User | None = None, **more: Any
    ) -> None:
        given: dict[str, Any] = {
            "verdict": verdict,
            "revision": review.revision,
            "digest": review.digest,
            "evidence_number": review.evidence_number,
            "token": f"bot-{self.plan.seed}-{next(_tokens)}",
            "reason": "as the bot sees it",
        }
        decisions.decide(review.pk, decisions.Answer(**(given | more)), by=Actor(user=user or self.reviewer))

    def _try(self, act: Any) -> None:
        try:
            act()
        except refusals.Refused:
            return
