"""Reading an effect back, in a worker, where the tool's secrets are; by read-only means, and never on its path."""

from __future__ import annotations

import structlog
from django.conf import settings

from runs import models, points, redaction
from runs.engine import origin, outside, preparing, secrets
from runs.engine.context import Context
from runs.tools import contract
from runs.transitions import verifications
from runs.transitions.steps import occurrences

log = structlog.get_logger(__name__)
Outcome = models.Verification.Outcome


def verify(verification_id: int) -> bool:
    """Look once; return whether there was anything to do. It is repeated freely after a crash."""
    origin.ensure()
    row = (
        models.Verification.objects.select_related("occurrence__owner__run")
        .filter(pk=verification_id, done_at__isnull=True)
        .first()
    )
    if row is None:
        return False
    try:
        found = _look(row.occurrence)
    except Exception as error:  # what can't be looked at is said, and nothing follows from it
        log.warning("not_read_back", verification=row.pk, error=type(error).__name__)
        said = redaction.clean(f"It could not be read back: {error}")
        verifications.done(row.pk, outcome=Outcome.UNREADABLE, said=said)
        return True
    if found is None:
        verifications.done(row.pk, outcome=Outcome.UNREADABLE, said="Its tool can't say here.")
    else:
        outcome = Outcome.HOLDS if found.holds else Outcome.DIFFERS
        verifications.done(row.pk, outcome=outcome, said=redaction.clean(found.summary))
    return True


def pending() -> int:
    """Return how many looks were made, of those that wait: for a process that hears no hints."""
    rows = models.Verification.objects.filter(done_at__isnull=True).order_by("pk")
    return sum(verify(pk) for pk in list(rows.values_list("pk", flat=True)))


def _look(row: models.Occurrence) -> contract.Verification | None:
    action = row.owner
    tool = preparing.tool_of(action)
    args = preparing.arguments_of(action, tool)
    known = occurrences.receipt(row)
    receipt = contract.Receipt(summary=str(known.get("summary", "")), value=known.get("value"))
    timeout = float(settings.CKPTSITE["READ_TIMEOUT"])
    agent = action.run.agent_version.agent.name
    ctx = Context(run_id=action.run_id, timeout=timeout, agent=agent, tool=tool.name, key=row.key)

    points.reach("verify.before_run")
    found = outside.look(
        lambda: tool.verify(secrets.filled(tool, args, agent=agent), receipt, ctx),
        beat=outside.Unclaimed(),
        timeout=timeout,
    )
    points.reach("verify.after_run")
    return found
