"""Comparing what may be used in a day to the audited acts of administrators."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runs import measures, models
from runs.engine import comparing


def limits() -> None:
    """Refuse (Broken) a version that nobody set, one that is gone, and limits in force that aren't the newest."""
    told: dict[tuple[str, int], Mapping[str, Any]] = {}
    newest: dict[str, Any] = {}
    for event in models.AuditEvent.objects.filter(act="budget.set").order_by("seq"):
        said = event.content
        told[said["of"], said["number"]] = {"by": event.actor_id, **said}
        newest[said["of"]] = said["after"]
    for row in models.DayBudget.objects.order_by("pk"):
        of = models.Installation.EVERYBODY if row.agent_id is None else str(row.agent_id)
        found = told.pop((of, row.number), None)
        with comparing.readable(f"limits {row.pk}"):
            if found is None or (found["after"], found["reason"], found["by"]) != (
                row.limits, row.reason, row.created_by_id,
            ):  # fmt: skip
                raise comparing.Broken(f"limits {row.pk}: they are not what the audit chain says")
    for of, number in told:
        raise comparing.Broken(f"limits of {of}: version {number} is gone")
    installation = models.Installation.objects.get(pk=1)
    used = models.Agent.objects.filter(current__isnull=False).values_list("pk", "current__budget")
    days = {str(pk): dict(measures.limits(budget.get("day", {}))) for pk, budget in used}
    if installation.declared != {of: limits for of, limits in days.items() if limits}:
        raise comparing.Broken("installation: the limits of a day are not what the agents in use declare")
    if installation.budgets != newest:
        raise comparing.Broken("installation: the limits of a day are not what the audit chain says")
