"""Effects that are taken back, in one line each."""

from __future__ import annotations

import itertools

from runs import models
from runs.transitions import undos
from runs.transitions.actor import Actor
from tests.rules.branching import through

_tokens = itertools.count()


def done(run: models.Run, reviewer: models.User) -> models.Occurrence:
    """The one effect of this run, which has ended."""
    run = through(run, reviewer)
    assert run.status == "succeeded", run.error
    return models.Occurrence.objects.get(root=run.root_id)


def ask(row: models.Occurrence, by: models.User, **more: str) -> models.Run:
    """Ask that it be taken back."""
    given = {"reason": "the wrong customer", "token": f"undo-{next(_tokens)}"} | more
    return undos.ask(row.pk, by=Actor(user=by), **given)


def state(row: models.Occurrence) -> str:
    row.refresh_from_db()
    return row.state
