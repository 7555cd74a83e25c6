"""What every part of the state machine stands on: its runs, the world, and one step that is judged at once."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine

from runs import models
from runs.transitions import decisions, refusals
from runs.transitions.actor import Actor
from tests.harness import always, small_world
from tests.harness.stage import Stage

which = st.integers(min_value=0, max_value=5)
numbers = itertools.count(1)


class Base(RuleBasedStateMachine):
    """Runs, and what is done to one of them."""

    stage: ClassVar[Stage]
    told: ClassVar[dict[str, int]] = {"intents": 0, "deaths": 0, "zombies": 0, "answers": 0}

    def __init__(self) -> None:
        super().__init__()
        small_world.Place.world = self.world = small_world.World()
        self.watch = always.Watch(world=self.world)
        self.runs: list[int] = []
        self.works = 0
        self.steps = 0

    def _run(self, index: int) -> models.Run:
        return models.Run.objects.get(pk=self.runs[index % len(self.runs)])

    def _work(self, index: int) -> int:
        """Return a run that a worker may have something to do with, if there is one."""
        open_now = models.Run.objects.filter(pk__in=self.runs, status__in=("queued", "running"))
        found = list(open_now.order_by("pk").values_list("pk", flat=True)) or self.runs
        return found[index % len(found)]

    def _check(self, *, verify: bool = False) -> None:
        self.steps += 1
        found = self.watch.check(self.runs, verify=verify or self.steps % 4 == 0)
        assert not found, "\n".join(found)

    def _try(self, act: Callable[[], Any]) -> bool:
        """Return whether it was taken; a refusal is a sentence."""
        said = ""
        try:
            act()
        except refusals.Refused as error:
            said = error.message
        self._check()
        assert not said or said.endswith("."), said
        return not said

    def _did(self, what: str, act: Callable[[], Any]) -> bool:
        """Try it, and count what was taken."""
        taken = self._try(act)
        self.told[what] = self.told.get(what, 0) + taken
        return taken

    def _send(self, review: models.Review, verdict: str, by: Actor, **more: Any) -> None:
        token = f"answer-{next(numbers)}"
        answer = decisions.Answer(
            verdict=verdict, revision=review.revision, digest=review.digest, token=token, reason="so it is",
            evidence_number=review.action.evidence_number if review.action else review.evidence_number, **more,
        )  # fmt: skip
        first = decisions.decide(review.pk, answer, by=by)
        assert decisions.decide(review.pk, answer, by=by).pk == first.pk
        self.told["answers"] += 1

    def _open(self, index: int, *kinds: str) -> models.Review | None:
        """Return an open question, or now and then a closed one."""
        asked = models.Review.objects.filter(run_id__in=self.runs, kind__in=kinds).select_related("action")
        rows = list(asked.filter(status="open").order_by("pk")) or list(asked.order_by("-pk")[:1])
        return rows[index % len(rows)] if rows else None
