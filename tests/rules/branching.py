"""Re-drives, forks and separate work in one line each, for the rules about lineages."""

from __future__ import annotations

import itertools
from typing import Any

from runs import models
from runs.transitions import redrives
from runs.transitions.actor import Actor
from tests.engine.conftest import answer, go

_tokens = itertools.count()


def redrive(run: models.Run, checkpoint: int, by: models.User, **more: Any) -> models.Run:
    """Return the new attempt from that checkpoint."""
    given = {"reason": "it went wrong", "token": f"redrive-{next(_tokens)}"} | more
    return redrives.redrive(run.pk, checkpoint=checkpoint, by=Actor(user=by), **given)


def through(run: models.Run, reviewer: models.User, verdict: str = "approve") -> models.Run:
    """Return the run after each of its questions was answered in the same way."""
    while go(run).status == "waiting":
        open_reviews = list(models.Review.objects.filter(run=run, status="open").order_by("pk"))
        assert open_reviews, run.reason
        for review in open_reviews:
            answer(review, reviewer, verdict)
    return run


def checkpoint(run: models.Run, boundary: str, *, nth: int = 0) -> int:
    """Return the number of the run's own nth checkpoint at that boundary."""
    found = models.Checkpoint.objects.filter(run=run, boundary=boundary).order_by("number")
    number = list(found.values_list("number", flat=True))[nth]
    assert number is not None
    return number


def texts(run: models.Run) -> list[str]:
    """Return the closing words of the run's own calls."""
    lines = models.Entry.objects.filter(run=run, kind="result").order_by("position")
    return [line.content["text"] for line in lines]
