"""Late usage: unfenced, so that a worker that lost its run may still say what its call has cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import hints, models
from runs.transitions import inbox
from runs.transitions.committing import committing


def late(run_id: int, *, fence: int, usage: Mapping[str, Any]) -> None:
    """Leave what the model call of a claim that is over has cost; the engine's next turn counts it."""
    with committing("usage"):
        run = inbox.lock(run_id)
        inbox.leave(run, models.Fact.Kind.USAGE, {"fence": fence, "usage": dict(usage)}, by=None, mover="V")
        hints.changed(run.pk)
