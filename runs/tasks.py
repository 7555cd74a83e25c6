"""Celery tasks: a message says that a run may be due, or that somebody tries other arguments, nothing more."""

from __future__ import annotations

from celery import shared_task

from ckptsite.celery import stopping
from runs.engine import rehearsing, worker


@shared_task(name="runs.advance")
def advance(run_id: object) -> None:
    """Advance the run if it is due, then whatever else is. What names no run is passed over."""
    if isinstance(run_id, int) and not isinstance(run_id, bool):
        worker.work(run_id, stopping=stopping)


@shared_task(name="runs.rehearse")
def rehearse(rehearsal_id: object) -> None:
    """Work out what other arguments would do, for the person who tries them."""
    if isinstance(rehearsal_id, int) and not isinstance(rehearsal_id, bool):
        rehearsing.rehearse(rehearsal_id)
