"""A rehearsal, in a worker, where the tool's secrets are: what edited arguments would do, as the preview says it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog
from django.conf import settings

from runs import exact, lifecycle, models, points, redaction
from runs.engine import origin, outside, preparing, verdicts
from runs.engine.context import Context
from runs.models import paths
from runs.transitions import rehearsals
from runs.transitions.considered import Considered
from runs.transitions.steps import occurrences

log = structlog.get_logger(__name__)


def rehearse(rehearsal_id: int) -> bool:
    """Work out one rehearsal; return whether there was anything to do. It is repeated freely after a crash."""
    origin.ensure()
    row = (
        models.Rehearsal.objects.select_related("review__action", "review__run__agent_version__agent")
        .filter(pk=rehearsal_id, done_at__isnull=True)
        .first()
    )
    if row is None or row.review.action is None:
        return False
    try:
        shown = _shown(row, row.review.action)
    except Exception as error:  # what can't be worked out is said, never hidden
        log.warning("rehearsal_failed", rehearsal=row.pk, error=type(error).__name__)
        shown = {"problem": redaction.clean(f"What would happen could not be worked out: {error}")}
    rehearsals.done(row.pk, exact.stored(exact.canonical(shown)))
    return True


def _shown(row: models.Rehearsal, action: models.Action) -> Mapping[str, Any]:
    tool = preparing.tool_of(action)
    args = tool.parse(row.arguments)
    timeout = float(settings.CKPTSITE["READ_TIMEOUT"])
    agent = row.review.run.agent_version.agent.name
    ctx = Context(run_id=action.run_id, timeout=timeout, agent=agent, tool=tool.name)
    points.reach("rehearsal.before_run")
    preview = outside.look(lambda: tool.preview(args, ctx), beat=outside.Unclaimed(), timeout=timeout)
    points.reach("rehearsal.after_run")
    shown = redaction.clean(preview.as_json()) if preview is not None else None
    identity = exact.digest_of(exact.stored(exact.canonical(tool.identity_of(args))))
    about = Considered(
        row.review.run,
        tool=action.tool,
        arguments=lambda: row.arguments,
        identity=identity,
        duplicate=action.duplicate_of_id is not None,
        preview=lambda: shown,
    )
    verdict = verdicts.ask(verdicts.in_force(), about, agent=agent, tool=type(tool), never_allow=True)
    verdict = verdicts.of_an_edit(verdict, action)
    return {
        "stands": _stands(row, action, identity),
        "preview": shown,
        "before": action.preview,
        "verdict": verdict.verdict,
        "rule": verdict.rule,
        "tier": verdict.tier,
        "quorum": verdict.terms.get("quorum", 1),
        "groups": list(verdict.terms.get("groups", [])),
    }


def _stands(row: models.Rehearsal, action: models.Action, identity: str) -> str:
    """Return what came of just these arguments in an earlier attempt, where that is taken for this; else nothing."""
    run = row.review.run
    if not run.path:
        return ""
    known = models.Occurrence.objects.filter(
        root=run.root_id, tool=action.tool, identity_digest=identity, state=lifecycle.Occurrence.STANDING
    )
    for found in paths.off(run.path, run.pk, list(known.select_related("owner").order_by("n"))):
        if found.owner.digest == row.digest:
            return str(occurrences.receipt(found).get("summary") or "It is done already.")
    return ""
