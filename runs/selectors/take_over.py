"""What it means to take a dry run over: its corrections, live, from the checkpoint where it began."""

from __future__ import annotations

import secrets
from collections.abc import Mapping

from runs import models
from runs.models import paths
from runs.selectors import run_models


def form(run: models.Run, given: Mapping[str, str], *, error: str = "") -> run_models.TakeOver | None:
    """Return the form, with what was typed kept; None for what is no dry run, or takes nobody's place."""
    if run.mode != models.Run.Mode.DRY_RUN:
        return None
    current = paths.current(run.root_id).first()
    first = models.Entry.objects.filter(run=run, position=paths.cut(run) + 1).first()
    if current is None or first is None:
        return None
    return run_models.TakeOver(
        run_id=run.pk,
        current_id=current.pk,
        goes_on=current.ended_at is None,
        checkpoint=int(first.content["from"][1]),
        token=given.get("token") or secrets.token_urlsafe(24),
        reason=given.get("reason", "")[:2000],
        error=error,
    )
