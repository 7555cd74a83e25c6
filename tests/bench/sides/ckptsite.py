"""ckptsite: the reply with the intent in one commit, the result in the next, and the effect between them.

The provider passes for one that is asked elsewhere, so that nothing waits for its reply.
"""

from __future__ import annotations

import contextlib
import itertools
import time
from typing import TYPE_CHECKING, Any
from unittest import mock

from tests.bench.sides import common

if TYPE_CHECKING:
    from runs.providers import contract, replay
    from tests.bench import tools

GUARANTEE = (
    "intent committed before the effect, result after it, both under a fence; an effect whose end is unknown is looked"
    " up or asked, never repeated; every entry chained by its digest"
)


class Ckptsite:
    """The engine, as a worker runs it that was told of this run."""

    def __init__(self, url: str) -> None:
        """Take the database from the environment, which leads to `url`."""
        self.moments = common.Moments()
        self._numbers = itertools.count(1)
        self._told = contextlib.ExitStack()
        self._is_open = False

    def open(self) -> None:
        """Set Django up, and let the tools and the provider say when they are used; once is enough."""
        if self._is_open:
            return
        self._is_open = True
        import django

        django.setup()
        from runs.engine import worker
        from runs.providers import replay
        from runs.tools import contract as tool_contract
        from tests.bench import tools

        complete, moments = replay.Replay.complete, self.moments

        def asked(provider: replay.Replay, request: contract.Request, *, timeout: float) -> contract.Reply:
            moments.model()
            return complete(provider, request, timeout=timeout)

        def run(tool: tools.Named, args: tools.NamedArguments, ctx: Any) -> tool_contract.Receipt:
            return tool_contract.Receipt(summary="Done.", value={"text": moments.effect(args.name)})

        self._told.enter_context(mock.patch.multiple(replay.Replay, local=False, complete=asked))
        self._told.enter_context(mock.patch.object(tools.Named, "run", run))
        worker.settle_in()

    def close(self) -> None:
        """Let the tools and the provider be as they were."""
        self._told.close()

    def start(self, limit: common.Limit) -> str:
        """Return the number of a run that has done its steps and waits; no limit of time is needed."""
        from tests.bench import recordings, tools

        steps = recordings.singles(limit.steps)
        asks = recordings.singles(limit.asks, tool=tools.Send, first=limit.steps)
        run = recordings.start(steps + asks)
        self._go_on(run.pk)
        return str(run.pk)

    def answer(self, run: str) -> None:
        """Approve, and go on."""
        self._approve(int(run))
        self._go_on(int(run))

    def answer_first(self, run: str) -> float:
        """Approve, and go on in a worker that hasn't seen the run and has no connection yet."""
        self.open()
        from django.db import connection

        from runs.engine import worker

        self._approve(int(run))
        connection.close()
        began = time.perf_counter()
        worker.settle_in()
        self._go_on(int(run))
        return began

    def read(self, run: str) -> int:
        """Rebuild the state from the whole log."""
        from runs import models, state
        from runs.models import paths

        row = models.Run.objects.get(pk=run)
        found = state.fold(paths.told(row.path, row.pk))
        return sum(call.tool.startswith("bench.") for call in found.calls.values())

    def fork(self, run: str, step: int) -> None:
        """Go on from the checkpoint after so many effects, as a new attempt of the lineage."""
        from runs import models
        from runs.engine import advance
        from runs.transitions import holds, redrives
        from runs.transitions.actor import Actor
        from tests.bench import recordings

        by = Actor(user=recordings.person("operator"))
        cut = (
            models.Checkpoint.objects.filter(run=int(run), boundary="result")
            .order_by("number")
            .values_list("number", flat=True)[step - 1]
        )
        assert cut is not None
        before = len(self.moments.asked)
        new = redrives.redrive(
            int(run), checkpoint=cut, reason="Once more.", by=by, token=f"fork-{run}-{next(self._numbers)}"
        )
        advance.advance(new.pk, stopping=lambda: len(self.moments.asked) > before)
        assert len(self.moments.asked) > before
        holds.stop(new.pk, reason="That was all.", by=by)
        advance.advance(new.pk)

    def _go_on(self, run_id: int) -> None:
        from runs import lifecycle, models
        from runs.engine import advance, worker

        while True:
            worker.work(run_id, stopping=advance.never)
            run = models.Run.objects.get(pk=run_id)
            if run.status in (lifecycle.Run.WAITING, lifecycle.Run.SUCCEEDED):
                return
            assert run.status == lifecycle.Run.QUEUED, (run.status, run.error)

    def _approve(self, run_id: int) -> None:
        from runs import lifecycle, models
        from runs.transitions import decisions
        from runs.transitions.actor import Actor
        from tests.bench import recordings

        review = models.Review.objects.get(run=run_id, status=lifecycle.Review.OPEN)
        decisions.decide(
            review.pk,
            decisions.Answer(
                verdict=decisions.APPROVE,
                revision=review.revision,
                digest=review.digest,
                evidence_number=review.evidence_number,
                token=f"approve-{review.pk}",
                reason="Checked.",
            ),
            by=Actor(user=recordings.person("reviewer")),
        )
