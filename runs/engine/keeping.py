"""Keeping what is known about an effect: the database may be away for a moment, or its answer to a COMMIT lost."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from runs import exact, lifecycle, models, redaction, state
from runs.engine.context import Context
from runs.engine.heartbeat import Heartbeat
from runs.tools.contract import Receipt, Tool
from runs.transitions import steps
from runs.transitions.refusals import Changed, LostAuthority

log = structlog.get_logger(__name__)

PATIENCE = 20.0
"""So long a worker that knows an outcome tries to store it."""

PAUSE = 0.2

AWAY = (OperationalError, InterfaceError)


def keep(
    store: Callable[[], None], *, testify: Callable[[], object], beat: Heartbeat, failed: bool = False
) -> None:
    """Store an outcome, or leave it as evidence when the run is lost. Refuses LostAuthority then.

    It is tried again while the database is away. A COMMIT whose answer was lost is found by the next try: the action
    isn't in intent any more, and nobody but this claim can have moved it. `failed`: it was tried before.
    """
    beat.allow(PATIENCE)
    end = time.monotonic() + PATIENCE
    while True:
        try:
            try:
                store()
            except LostAuthority:
                testify()
                raise
            return
        except Changed:
            if not failed:
                testify()
            return
        except AWAY as error:
            log.warning("outcome_not_stored", error=f"{type(error).__name__}: {error}")
            failed = True
            connection.close()
            if time.monotonic() > end or beat.stopping():
                raise
            time.sleep(PAUSE)


def never_sent(claim: steps.Claim, call: state.CallId, *, attempt: int) -> None:
    """The commit of an intent failed or its answer was lost, so nothing was sent: say so if the intent is there."""
    connection.close()
    found = models.Action.objects.filter(
        run=claim.run_id, reply_position=call[0], call_index=call[1], status=lifecycle.Action.INTENT
    ).first()
    if found is not None and found.attempt == attempt:
        steps.did_not_happen(
            claim,
            call,
            attempt=attempt,
            reason="it was never sent, as the database's answer was lost before",
            again=attempt < int(settings.CKPTSITE["MAX_SENDS"]),
        )


def settle_seconds(tool: Tool) -> float:
    """Return how late after its deadline a request of this tool may still take effect."""
    return tool.settle.total_seconds() if tool.settle is not None else float(settings.CKPTSITE["SETTLE"])


def stored_receipt(receipt: Receipt) -> dict[str, Any]:
    """Return a receipt as the exact JSON that is stored."""
    text = exact.canonical({"summary": receipt.summary, "value": receipt.value}, limit=None)
    found: dict[str, Any] = exact.stored(text)
    return redaction.clean(found)


def keep_files(ctx: Context) -> None:
    """Keep what the call has made. It is done by now, so its receipt is stored whether they can be kept or not."""
    try:
        ctx.keep()
    except AWAY as error:
        log.warning("files_not_kept", error=f"{type(error).__name__}: {error}")
