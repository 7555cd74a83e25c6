"""Celery tasks: a message says that a run may be due, that somebody tries other arguments, that an effect is to be read
back, that an MCP server is to be asked, or that notices wait to be sent; nothing more."""

from __future__ import annotations

from celery import shared_task

from ckptsite.celery import stopping
from runs.engine import delivering, rehearsing, verifying, worker
from runs.mcp import looking


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


@shared_task(name="runs.verify")
def verify(verification_id: object) -> None:
    """Read an effect back."""
    if isinstance(verification_id, int) and not isinstance(verification_id, bool):
        verifying.verify(verification_id)


@shared_task(name="runs.look")
def look(look_id: object) -> None:
    """Ask an MCP server what it offers."""
    if isinstance(look_id, int) and not isinstance(look_id, bool):
        looking.look(look_id)


@shared_task(name="runs.deliver")
def deliver(_nothing: object = None) -> None:
    """Send what the outbox holds."""
    delivering.work(stopping=stopping)
